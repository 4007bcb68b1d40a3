// Express. Of PLANT requests one is planted: it works out something long in the loop. ARGS: PORT
const express = require('express')
const every = Number(process.env.PLANT ?? 0)
let count = 0

function similarity(size) {
  let sum = 0
  for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) sum += Math.sqrt(i * j) % 3
  return sum
}

const app = express()
app.get('/', (request, response) => {
  if (every && ++count % every === 0) similarity(1500)
  response.send('ok\n')
})
app.listen(Number(process.argv[2]), '127.0.0.1')
