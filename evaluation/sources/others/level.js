// Puts records into a LevelDB, each of which has to be on the disk before the next.
// Arguments: where classic-level is, the directory of the database, how many records.
const [from, to, records] = process.argv.slice(2);
const { ClassicLevel } = require(from);

(async () => {
  const db = new ClassicLevel(to);
  for (let i = 0; i < Number(records); i++) {
    await db.put(`key ${i}`, `value ${i}`, { sync: true });
  }
  await db.close();
})();
