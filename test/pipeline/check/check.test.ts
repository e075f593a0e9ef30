import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../../pipeline/check/check.js'
import type { BadRow } from '../../../pipeline/check/row-reading.js'
import { balance, type Receipt, receiptSchema } from '../../../schemas/receipt.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createStory, follow, type StoryStack, storyProfile } from '../../story/rig/stack.js'
import { type MixedFile, mixedFiles } from './mixed-file.js'

const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
const filesCount = 10
/** Every run takes two of these, by its seed. */
const utilities = [
  { timeZone: 'America/Detroit', usage: { rejectedShareMax: 1 } },
  { timeZone: 'America/St_Johns', usage: { rejectedShareMax: 0.2 } },
  { timeZone: 'America/Chicago', usage: { rejectedShareMax: 1, clock: 'standard' } },
  { timeZone: 'America/Toronto', usage: { rejectedShareMax: 1 } },
  { timeZone: 'Australia/Lord_Howe', usage: { rejectedShareMax: 1 } },
  { timeZone: 'America/Phoenix', usage: { dateOrder: 'DMY' } },
] as const

/** What does not depend on when and where a file was judged. */
function verdictOf({ receivedAt, publishedAt, seconds, ...verdict }: Receipt) {
  return verdict
}

/** The rejects of an arrival as the sender gets them: none where the file was refused as a whole. */
async function rejectsOf(
  story: StoryStack,
  arrival: number,
  { rows }: Receipt,
): Promise<readonly BadRow[]> {
  if (rows.rejected === 0) return []
  return story.store.rows<BadRow>({
    sql: `SELECT line, column_name AS column, code, detail, raw AS row FROM rejected_row
      WHERE arrival = {arrival:UInt32} ORDER BY line`,
    parameters: { arrival },
  })
}

async function holdAgainstEngine(t: Test, utility: (typeof utilities)[number]): Promise<void> {
  const profile = { ...utility }
  const folder = t.testdir()
  const files = mixedFiles({ seed, count: filesCount, zone: createZone(utility.timeZone) })
  const story = await createStory({ profile })
  t.teardown(story.close)
  const arrivals = new Map<MixedFile, number>()
  for (const file of files) {
    await writeFile(join(story.desk, file.name), file.bytes)
    arrivals.set(file, (await story.submission.submit(join(story.desk, file.name))).arrival)
  }
  for (const [file, arrival] of arrivals) {
    const receipt = await follow(story.submission, arrival)
    const checked = await check(join(story.desk, file.name), {
      profile: storyProfile({ profile }),
      folder,
      now: () => new Date(),
      badRowsMax: Number.POSITIVE_INFINITY,
      recordsMax: 64,
    })
    const what = `${file.name} of seed ${seed} in ${utility.timeZone}`
    const alike =
      t.same(verdictOf(checked.receipt), verdictOf(receipt), what) &&
      t.same(checked.badRows, await rejectsOf(story, arrival, receipt), `${what}: rejects`)
    if (!alike && file.text.length < 20_000) t.comment(file.text)
    t.ok(balance(checked.receipt), `${what} balances`)
    receiptSchema.parse(checked.receipt)
  }
  t.same(readdirSync(folder), [], 'nothing stays behind')
}

t.comment(`seed ${seed}`)

for (const turn of [0, 1]) {
  const utility = utilities[(seed + turn * 3) % utilities.length] as (typeof utilities)[number]
  t.test(`engine and check agree to the row in ${utility.timeZone}`, (t) =>
    holdAgainstEngine(t, utility),
  )
}
