import { readFileSync } from 'node:fs'

/**
 * Loaded into a process with `--import`: its clock is off by the milliseconds in the file that the
 * environment variable names. The file may change at any time.
 */
const path = process.env['TIELINE_TEST_CLOCK'] as string
const trueNow = Date.now
let offsetMs = 0
const read = () => {
  offsetMs = Number(readFileSync(path, 'utf8')) || 0
}
read()
setInterval(read, 50).unref()

const now = () => trueNow() + offsetMs
globalThis.Date = new Proxy(Date, {
  construct: (real, parts, target) => {
    return Reflect.construct(real, parts.length === 0 ? [now()] : parts, target) as Date
  },
  get: (real, name) => (name === 'now' ? now : Reflect.get(real, name)),
})
