// Notes every byte that it is typed in a file. Prints the first of its texts at
// once, and the next for every G.
import { appendFileSync } from 'node:fs'
import process from 'node:process'

const [file, texts] = process.argv.slice(2)
const prints = JSON.parse(texts)
process.stdin.setRawMode(true)
process.stdin.on('data', (data) => {
  appendFileSync(file, data)
  for (const byte of data) if (byte === 0x47) process.stdout.write(prints.shift() ?? '')
})
process.stdout.write(prints.shift() ?? '')
