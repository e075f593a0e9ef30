import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import { peakMb } from '../../../benchmarks/memory.js'
import { sample } from '../../rig/sample.js'
import { header, openStory } from '../../story/rig/stack.js'

/** In the long tests chunks of 8, 16, 32 and nearly 64 MB, the last of 1.2 million rows. */
const meters = sample({ short: 6_000, long: 24_000 })
const slots = 96
const rows = meters * slots
const mbMax = sample({ short: 260, long: 400 })

const slotStamps = Array.from({ length: slots }, (_, slot) => {
  const two = (number: number) => String(number).padStart(2, '0')
  return `03/04/2026 ${two(Math.floor(slot / 4))}:${two((slot % 4) * 15)}:00`
})

/** A day of reads with a blank before site and meter, which only the row judge takes away. */
function* oddFile(): Generator<string> {
  yield `${header}\n`
  for (let meter = 0; meter < meters; meter++) {
    const id = 10_000_000 + meter
    yield slotStamps.map((stamp) => `${id}, ${id}, ${id},${stamp},0.25\n`).join('')
  }
}

t.test('memory does not grow with the rows that the row judge sees', async (t) => {
  const story = await openStory(t, { limits: { chunkBytes: '64 MB' } })
  const path = join(story.desk, 'DEMO_05032026_Electric.csv')
  await pipeline(Readable.from(oddFile()), createWriteStream(path))
  const receipt = await story.load(path)
  t.match(receipt, { status: 'published', rows: { read: rows, accepted: rows, rejected: 0 } })
  const peak = peakMb(story.stack.worker.pid()) ?? Number.POSITIVE_INFINITY
  t.ok(peak < mbMax, `${Math.round(peak)} MB`)
})
