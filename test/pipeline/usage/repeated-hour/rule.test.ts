import fc from 'fast-check'
import t from 'tap'
import {
  type Choice,
  chooseHours,
  type Hour,
  type Night,
  type NightRow,
  needsStore,
} from '../../../../pipeline/usage/repeated-hour/rule.js'

const at = 1_762_063_200
const hour = 3_600
const minutes = (text: string) => {
  const [hours = 0, rest = 0] = text.split(':').map(Number)
  return hours * 60 + rest
}
/** A timestamp of 2 November 2025 in Detroit; of the repeated hour in daylight time. */
const instantOf = (text: string) => {
  const summer = at - 2 * hour + minutes(text) * 60
  return summer < at ? summer : summer + hour
}
const rowOf = (text: string, index: number): NightRow => {
  const [, time = '', mark = '', print = ''] = /^([\d:]+)(!?)=?(.*)$/.exec(text) ?? []
  const isIn = time.startsWith('1:')
  const kind = mark === '!' ? 'held' : isIn ? 'repeated' : 'outside'
  return { at: instantOf(time), kind, print: print || `new ${index}`, version: String(index) }
}
/** Reads as `1:15` or `1:15s`, standard time, each with its print behind `=`. */
const storedOf = (texts: string) =>
  new Map(
    (texts === '' ? [] : texts.split(' ')).map((text, index) => {
      const [, time = '', second = '', print = ''] = /^([\d:]+)(s?)=?(.*)$/.exec(text) ?? []
      return [instantOf(time) + (second === 's' ? hour : 0), print || `old ${index}`] as const
    }),
  )
const lastOf = (stored: ReadonlyMap<number, string>) =>
  stored.size === 0 ? undefined : Math.max(...stored.keys())
const nightOf = (rows: string, more: Partial<Night> & { readonly had?: string } = {}): Night => ({
  change: { at, span: hour },
  length: 900,
  rows: rows.split(' ').map(rowOf),
  stored: storedOf(more.had ?? ''),
  last: lastOf(storedOf(more.had ?? '')),
  arrivedAt: undefined,
  stamp: 'start',
  ...more,
})
const letter = ({ hour, isAmbiguous, isRejected }: Choice) => {
  if (isRejected) return 'x'
  const one = hour === 'daylight' ? 'd' : 's'
  return isAmbiguous ? `${one}?` : one
}
/** The hours of the rows in the repeated hour: d or s, with a question mark where nothing proves it. */
const hoursOf = (rows: string, more?: Parameters<typeof nightOf>[1]) =>
  chooseHours(nightOf(rows, more)).map(letter).join(' ')

const first = '0:45 1:00 1:15 1:30 1:45'

t.test('both rows of a timestamp: daylight time first, in the order of time', async (t) => {
  t.equal(hoursOf('0:00 1:00 1:00 2:00', { length: hour }), 'd s')
  t.equal(hoursOf('1:00 1:00', { length: hour }), 'd s')
  t.equal(hoursOf('2:00 1:00 1:00 0:00', { length: hour }), 's d', 'newest first')
  t.equal(hoursOf('1:45 1:30 1:15 1:00 1:45 1:30 1:15 1:00'), 's s s s d d d d')
  t.equal(hoursOf('1:00 1:00 1:00', { length: hour }), 'd s s', 'a third is judged like the second')
  t.equal(hoursOf('1:00! 1:00', { length: hour }), 's', 'a rejected row holds its place')
  t.equal(hoursOf('1:30 1:45 1:00 1:15 1:30'), 'd d s s s', 'what lies between them as well')
  t.equal(hoursOf('0:45 1:00 1:15 1:45 1:00 1:15 1:30 1:45 2:00'), 'd d d s s s s')
  t.equal(hoursOf('1:30 1:30 1:00 1:00 1:15'), 'd s d s d?', 'rows in no order')
})

t.test(
  'one row of a timestamp: the row before the hour or the one after it proves it',
  async (t) => {
    t.equal(hoursOf('0:45 1:00 1:15'), 'd d')
    t.equal(hoursOf('1:30 1:45 2:00'), 's s')
    t.equal(hoursOf('0:30 1:00'), 'd?', 'not one interval before')
    t.equal(hoursOf('0:00 1:00', { length: hour }), 'd')
    t.equal(hoursOf('0:00 1:00 2:00', { length: hour }), 'd?', 'both are there')
    t.equal(hoursOf('0:45 1:00 1:15 1:30 1:45 2:00'), 'd? d? d? d?')
    t.equal(hoursOf('2:00 1:00', { length: hour }), 's', 'in any order')
    t.equal(
      hoursOf('1:30 1:45 1:00 1:15 2:00 2:15'),
      'd? d? d? d?',
      'a step back may be the change',
    )
    t.equal(hoursOf('2:15 2:00 1:15 1:00 1:45 1:30'), 'd? d? d? d?', 'newest first')
    t.equal(hoursOf('0:45 1:30 1:45 1:00 1:15'), 'd? d? d? d?')
    t.equal(hoursOf('1:30 1:45 1:00 1:15 2:00', { had: `${first} 2:00` }), 'x x x x')
    t.equal(hoursOf('1:30 1:00 1:45 1:15 2:00'), 's s s s', 'rows in no order')
    t.notOk(needsStore(nightOf(first)))
    t.ok(needsStore(nightOf('1:00')))
  },
)

t.test('else the stored reads prove it that end where the delivery begins', async (t) => {
  t.equal(hoursOf('1:00', { had: '0:45' }), 'd')
  t.equal(hoursOf('1:15 1:30', { had: '0:45 1:00' }), 'd d')
  t.equal(hoursOf('1:00 1:15', { had: first }), 's s')
  t.equal(hoursOf('1:45 1:00', { had: '0:45 1:00 1:15 1:30' }), 'd s')
  t.equal(hoursOf('1:00', { had: '0:00 1:00', length: hour }), 's')
  t.equal(hoursOf('1:30', { had: first }), 'x', 'not what comes next')
  t.equal(hoursOf('1:00', { had: `${first} 2:00` }), 'x', 'the night is over')
  const last = instantOf('1:45')
  t.equal(hoursOf('1:00', { had: `${first} 2:00`, last }), 's', 'a later delivery has stored 2:00')
  t.equal(hoursOf('1:00=a', { had: '0:00 1:00=a', length: hour }), 'x', 'or the first once more')
})

t.test('without a proof a row replaces nothing', async (t) => {
  t.equal(hoursOf('1:00'), 'd?')
  t.equal(hoursOf('1:00', { had: '1:00' }), 'x')
  t.equal(hoursOf('1:00', { had: '1:00s' }), 'd?')
  t.equal(hoursOf('1:00=a', { had: '1:00=a 1:00s=b' }), 'd?')
  t.equal(hoursOf('1:00=b', { had: '1:00=a 1:00s=b' }), 's?')
  t.equal(hoursOf('1:00=c', { had: '1:00=a 1:00s=b' }), 'x')
  t.equal(hoursOf('0:45 1:30 2:00', { had: '1:30=a 1:30s=b' }), 'x')
  t.equal(hoursOf('1:45 2:00', { had: '1:45=a 1:45s=b' }), 's', 'with a proof it replaces a read')
})

t.test('a row that was here before the second interval ended is daylight time', async (t) => {
  const end = at + 900
  t.equal(hoursOf('1:00', { arrivedAt: end - 61 }), 'd')
  t.equal(hoursOf('1:00', { arrivedAt: end - 60 }), 'd?', 'clocks may differ by a minute')
  t.equal(hoursOf('1:00 1:00', { arrivedAt: end - 61 }), 'd d', 'sent twice')
  t.equal(hoursOf('1:00', { arrivedAt: at - 61, stamp: 'end' }), 'd')
  t.equal(hoursOf('1:15 1:30 1:45 1:00', { arrivedAt: end, had: '0:45 1:00' }), 'd d d s')
})

t.test('an interval longer than the repeated hour comes once', async (t) => {
  const lordHowe = { change: { at, span: 1_800 }, length: hour } as const
  const night = (rows: readonly number[], stored: readonly number[] = []) =>
    chooseHours({
      ...nightOf('1:00', lordHowe),
      stored: new Map(stored.map((one) => [one, 'old'])),
      rows: rows.map((one, index) => ({
        at: one,
        kind: one >= at - 1_800 && one < at ? 'repeated' : 'outside',
        print: 'new',
        version: String(index),
      })),
    }).map(letter)
  t.same(night([at - hour, at - 1_800, at + hour]), ['s'], 'its instant is that of the second hour')
  t.same(night([at - 1_800], [at - 1_800 - hour]), ['d'])
  t.same(night([at - 1_800], [at]), ['s'])
  t.same(night([at - 1_800]), ['d?'])
})

/** The reads of a night around the hour, with few different values. */
const plan = fc.record({
  span: fc.constantFrom(hour, 1_800),
  pieces: fc.constantFrom(1, 2, 4),
  lead: fc.integer({ min: 1, max: 3 }),
  tail: fc.integer({ min: 0, max: 3 }),
  values: fc.infiniteStream(fc.constantFrom('a', 'b', 'c')),
  cuts: fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
  again: fc.infiniteStream(fc.constantFrom(false, false, true)),
  reversed: fc.infiniteStream(fc.boolean()),
  live: fc.boolean(),
  delays: fc.infiniteStream(fc.integer({ min: -59, max: 8_000 })),
})

t.test('a night that is cut anywhere ends with every read at its hour or rejected', async () => {
  const property = fc.property(plan, (one) => {
    const { span, lead, tail, live } = one
    const length = span / one.pieces
    const count = lead + tail + 2 * one.pieces
    const reads = Array.from({ length: count }, (_, index) => ({
      truly: at - span - lead * length + index * length,
      print: one.values.next().value as string,
    }))
    const stored = new Map<number, string>()
    const rejected = new Set<number>()
    const isIn = (instant: number) => instant >= at - span && instant < at + span
    const deliver = (part: typeof reads, arrivedAt: number | undefined) => {
      const rows = part.map(({ truly, print }, index): NightRow => {
        const instant = isIn(truly) && truly >= at ? truly - span : truly
        return {
          at: instant,
          kind: isIn(truly) ? 'repeated' : 'outside',
          print,
          version: String(index),
        }
      })
      const isKnown = rows.some(({ kind }) => kind === 'outside')
      if (isKnown && one.reversed.next().value) rows.reverse()
      const night: Night = {
        change: { at, span },
        length,
        rows,
        stored: new Map(stored),
        last: lastOf(stored),
        arrivedAt,
        stamp: 'start',
      }
      const chosen = new Map(chooseHours(night).map((choice) => [choice.version, choice]))
      for (const { version, kind, at: instant, print } of rows) {
        const choice = chosen.get(version)
        const { truly = 0 } = part[Number(version)] ?? {}
        if (choice?.isRejected) rejected.add(truly)
        else stored.set(instant + shift(choice?.hour, kind, span), print)
      }
    }
    for (let from = 0; from < count; ) {
      const part = reads.slice(from, from + (one.cuts.next().value as number))
      from += part.length
      const delay = one.delays.next().value as number
      const arrivedAt = live ? (part.at(-1)?.truly ?? 0) + length + delay : undefined
      deliver(part, arrivedAt)
      if (one.again.next().value) deliver(part, arrivedAt && arrivedAt + 10)
    }
    for (const { truly, print } of reads) {
      if (stored.get(truly) === print) stored.delete(truly)
      else if (!rejected.has(truly) || stored.has(truly)) return false
    }
    return stored.size === 0
  })
  fc.assert(property, { numRuns: 20_000 })
})

function shift(hour: Hour | undefined, kind: NightRow['kind'], span: number): number {
  return kind === 'repeated' && hour === 'standard' ? span : 0
}
