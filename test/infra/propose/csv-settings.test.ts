import t from 'tap'
import { toSection } from '../../../infra/propose/section.js'
import { openOf, proposalFor, readsBy } from './loaded.js'

t.test('the signs of numbers are found where they prove themselves', async (t) => {
  const signsOf = async (numbers: readonly string[], answers: object = {}) => {
    const rows = numbers.map((number, at) => `M;2026-01-13 ${10 + at}:00;${number}`)
    const file = ['Meter;Read Start;kWh', ...rows, ''].join('\n')
    const zone = { '/timeZone': 'Europe/Zurich', clock: 'wall' }
    const { findings } = await proposalFor({ file }, { ...zone, ...answers })
    const found = (wanted: string) => findings.find(({ setting }) => setting === wanted)
    const decimal = found('decimal')
    return [decimal?.question === undefined ? decimal?.value : '?', found('thousands')?.value]
  }
  t.same(await signsOf(['100,0', '1.234,5']), [',', '.'])
  t.same(await signsOf(['1.234', '0,5']), [',', '.'])
  t.same(await signsOf(['1,234', '0.5']), ['.', ','])
  t.same(await signsOf(['1,234,567', '12']), ['.', ','])
  t.same(await signsOf(["1'234.5", '12.0']), ['.', "'"])
  t.same(await signsOf(['1\u202F234,5', '12,0']), [',', ' '])
  t.same(await signsOf(['1.25', '12.0']), ['.', undefined])
  t.same(await signsOf(['1.234', '2.345']), ['?', undefined], 'either is possible')
  t.same(await signsOf(['1.234', '2.345'], { decimal: '","' }), [',', '.'])
  t.same(await signsOf(['1.25', '2,5']), ['?', undefined], 'both are decimal signs')
})

t.test('a delimiter at the end of rows does not hide the header above them', async (t) => {
  const rows = Array.from({ length: 9 }, (_, at) => `D1;2026-01-13 ${10 + at}:00;1${at};`)
  const file = ['Export;;;', 'Zaehlpunkt;Read Start;kWh', ...rows, ''].join('\n')
  const layout = { file, timeZone: 'Europe/Berlin' }
  const proposal = await proposalFor(layout, { '/timeZone': 'Europe/Berlin', clock: 'wall' })
  t.same(openOf(proposal), [])
  t.match(toSection(proposal), {
    usage: {
      format: { Electric: { skipLines: 1, header: true, columns: { meter: 'Zaehlpunkt' } } },
    },
  })
  t.equal((await readsBy(layout, proposal)).length, 9)
  const more = file.replace('18;', '18;x')
  const odd = await proposalFor({ file: more }, { '/timeZone': 'Europe/Berlin', clock: 'wall' })
  t.match(JSON.stringify(toSection(odd)), '"header":false', 'a field of its own')
})

t.test('columns behind 24 hours that may be a repeated hour are named', async (t) => {
  const names = Array.from({ length: 24 }, (_, at) => `${String(at).padStart(2, '0')}:00`)
  const row = (day: string, second: string) => `M,${day},${names.map(() => '1.5').join()},${second}`
  const days = [row('2026-10-24', ''), row('2026-10-25', '2.5'), row('2026-10-26', '')]
  const file = [`Meter,Day,${names.join()},02:00b`, ...days, ''].join('\n')
  const layout = { file, timeZone: 'Europe/Berlin' }
  const answers = { '/timeZone': 'Europe/Berlin', unit: 'kWh', '/commodity': 'Electric' }
  const { notes } = await proposalFor(layout, answers)
  t.match(
    notes.join('\n'),
    /"02:00b" may .* --answer 'columns\.values=\{from: "00:00", count: 25\}'/,
  )
  const values = { ...answers, 'columns.values': '{from: "00:00", count: 25}' }
  t.same(openOf(await proposalFor(layout, values)), ['numbering'])
  const proposal = await proposalFor(layout, { ...values, numbering: 'clock' })
  const second = (await readsBy(layout, proposal)).filter((read) => read.endsWith(' 2.5'))
  t.same(second, [`M ${Date.parse('2026-10-25T01:00:00Z') / 1_000} 2.5`])
})

t.test('lines of totals are left out, other odd lines are named with the remedy', async (t) => {
  const proposalOf = async (ending: readonly string[], more: object = {}) => {
    const rows = Array.from({ length: 9 }, (_, at) => `M,2026-01-13 ${10 + at}:00,1${at}`)
    const file = ['Meter,Read Start,kWh', ...rows, ...ending, ''].join('\n')
    const answers = { '/timeZone': 'America/Detroit', clock: 'wall', ...more }
    const { findings, notes } = await proposalFor({ file }, answers)
    const of = (wanted: string) => findings.find(({ setting }) => setting === wanted)?.value
    return { leaveOut: of('leaveOut'), time: of('columns.time'), notes: notes.join('\n') }
  }
  for (const [ending, word] of [
    [['Total,,126'], 'Total'],
    [['Grand total,126'], 'Grand total'],
    [[',Summe: 126,'], 'Summe'],
  ] as const) {
    const { leaveOut, time, notes } = await proposalOf(ending)
    t.same([leaveOut, time], [[word], 'Read Start'])
    t.notMatch(notes, 'rejected')
  }
  const odd = await proposalOf(['End of report'])
  t.equal(odd.leaveOut, undefined)
  t.match(odd.notes, /1 lines .* line 11; .* --answer leaveOut=\[TEXT\]/)
  const answered = await proposalOf(['End of report'], { leaveOut: '[End]' })
  t.same(answered.leaveOut, ['End'])
  t.notMatch(answered.notes, 'rejected')
  const { leaveOut } = await proposalOf(['Total,2026-01-14 10:00,126'])
  t.equal(leaveOut, undefined, 'a row with a time may be a read')
})

t.test('times beside the multiples of their length are named', async (t) => {
  const notesOf = async (minutes: readonly string[]) => {
    const rows = Array.from({ length: 12 }, (_, at) =>
      minutes.map((one) => `M;2026-01-13 ${10 + at}:${one};1.5`),
    ).flat()
    const file = ['Meter;Time;kWh', ...rows, ''].join('\n')
    return (await proposalFor({ file }, { '/timeZone': 'Europe/Berlin' })).notes.join('\n')
  }
  t.match(
    await notesOf(['14', '29', '44', '59']),
    /no time is a multiple of 15 minutes, such as 10:14/,
  )
  t.notMatch(await notesOf(['00', '15', '30', '45']), /multiple/)
})
