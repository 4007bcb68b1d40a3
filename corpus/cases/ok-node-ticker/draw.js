let drawn = 0;
const timer = setInterval(() => {
  console.log('#'.repeat(++drawn));
  if (drawn === 20) clearInterval(timer);
}, 50);
