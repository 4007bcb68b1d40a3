// Tests for mocha that wait for a time to pass, as tests of timeouts do.
describe("timeouts", () => {
  for (let i = 0; i < 100; i++) {
    it(`passes ${i}`, (done) => setTimeout(done, 15));
  }
});
