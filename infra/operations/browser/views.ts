import type { SourceShown } from '../../commands/output/sources-shown.js'
import type { CompleteDay } from '../panels/completeness.js'
import type { CycleDay, CycleDays } from '../panels/cycles.js'
import type { FileShown, Today } from '../panels/files.js'
import type { Age, Freshness } from '../panels/freshness.js'
import type { Minutes } from '../panels/minutes.js'
import type { QueueLoad, QueuesAndDisk } from '../panels/queues.js'
import { attention, fileLink } from './attention.js'
import { variance } from './bills.js'
import { chart } from './charts.js'
import { badge, bar, type Content, empty, oneLine, table } from './elements.js'
import { gateway } from './gateway.js'
import { healed } from './healed.js'
import { html, nothing } from './lit-html.js'
import { bytes, countText, percent, printableText, rough, span, timestamp } from './text.js'

/** Renders the figures of a panel. */
export type View = (figures: never) => Content

/** Views by the name of their panel on the server. */
export const views: Readonly<Record<string, View>> = {
  attention,
  files,
  minutes,
  freshness,
  completeness,
  cycles,
  variance,
  gateway,
  sources,
  healed,
  queues,
}

function files({ day, counts, files }: Today): Content {
  if (files.length === 0) return empty(`No files have arrived on ${day} yet.`)
  const all = counts.reduce((sum, one) => sum + one.files, 0)
  const feeds = [...new Set(counts.map(({ feed }) => feed))]
  const statuses = [...new Set(counts.map(({ status }) => status))]
  const of = (feed: string, status: string) =>
    counts.find((one) => one.feed === feed && one.status === status)?.files ?? 0
  const byFeed = table(
    `Files of ${day} by feed and state`,
    [
      { title: 'feed', cell: (feed) => feed || 'unknown' },
      ...statuses.map((status) => ({
        title: status,
        right: true,
        cell: (feed: string) => countText(of(feed, status)),
      })),
    ],
    feeds,
  )
  const rowsOf = (file: FileShown) => Math.max(file.read + file.held, file.loaded)
  const listed = table(
    files.length < all ? `The newest ${files.length} files` : 'All files, newest first',
    [
      { title: 'file', cell: ({ arrival, name }) => fileLink(arrival, name) },
      { title: 'state', cell: ({ status }) => badge(status) },
      { title: 'fault', cell: (file) => file.fault || rejectsText(file) },
      { title: 'arrived, UTC', cell: ({ arrivedAt }) => arrivedAt.slice(11, 16) },
      { title: 'rows', right: true, cell: (file) => counted(file, rowsOf(file)) },
      ...outcomes
        .filter((one) => always.has(one) || files.some((file) => file[one] > 0))
        .map((one) => ({
          title: one,
          right: true,
          cell: (file: FileShown) => counted(file, file[one]),
        })),
      { title: 'size', right: true, cell: (file) => bytes(file.bytes) },
    ],
    files,
  )
  return html`${byFeed}${listed}`
}

/** Where the rows of a file went; with the accepted ones they add up to all. */
const outcomes = [
  'accepted',
  'duplicate',
  'superseded',
  'rejected',
  'unregistered',
  'held',
] as const satisfies readonly (keyof FileShown)[]
const always: ReadonlySet<string> = new Set(['accepted', 'rejected'])

/** Nothing is known of the rows of a file that has only arrived. */
function counted({ status }: FileShown, rows: number): string {
  return status === 'arrived' ? '' : countText(rows)
}

function rejectsText({ status, rejected }: FileShown): string {
  return status === 'published' && rejected > 0 ? 'with rejects' : ''
}

function minutes({ minutes, rows, quantity, units }: Minutes): Content {
  const unitOf = (name: string) => units[name] ?? ''
  const all = rows.reduce((sum, one) => sum + one, 0)
  const most = Math.max(...rows)
  const kinds = Object.entries(quantity).filter(([, values]) => values.some((value) => value !== 0))
  const summary =
    all === 0
      ? 'No rows were processed in the last hour.'
      : `${countText(all)} rows in the last hour, ${countText(most)} in the busiest minute.`
  const arrived = {
    title: 'Rows per minute in the last hour',
    summary,
    at: minutes,
    lines: [{ label: 'rows/min', color: '--line-1', values: rows, bars: true }],
  }
  // One chart for each: they have different units, and bars would hide each other.
  const measured = kinds.map(([name, values], index) => {
    const unit = unitOf(name)
    const sum = rough(values.reduce((all, one) => all + one, 0))
    return chart({
      title: `${name} per minute in the last hour`,
      summary: `${sum} ${unit} of ${name} as sent, in the unit of the profile.`,
      at: minutes,
      lines: [{ label: `${unit}/min`, color: `--line-${index + 1}`, values, bars: true }],
    })
  })
  return html`${chart(arrived)}${measured}`
}

function freshness({ lateAfterHours, ages }: Freshness): Content {
  if (ages.length === 0) return empty('No usage has been published yet.')
  const now = Date.now() / 1_000
  const hours = (newest: number) => Math.max(0, now - newest) / 3_600
  const sorted = [...ages].sort((a, b) => a.newest - b.newest)
  const late = sorted.filter(({ newest }) => hours(newest) > lateAfterHours).length
  const counted = `Late (older than ${lateAfterHours} hours): ${countText(late)} of ${countText(ages.length)}.`
  const isLate = ({ newest }: Age) => hours(newest) > lateAfterHours
  const ageOf = ({ newest, cycle }: Age) =>
    cycle && hours(newest) > 168 ? 'a week or more' : span(hours(newest) * 3_600_000)
  const aged = table(
    `Age of the newest interval (full bar: ${lateAfterHours} hours)`,
    [
      {
        title: 'company or cycle',
        cell: (age) => (age.cycle ? `cycle ${age.cycle}` : age.company),
      },
      { title: 'commodity', cell: ({ commodity }) => commodity },
      { title: 'age', right: true, cell: ageOf },
      {
        title: '',
        cell: (age) => bar(hours(age.newest) / lateAfterHours, isLate(age) ? 'bad' : 'good'),
      },
      { title: '', cell: (age) => (isLate(age) ? badge('late') : '') },
    ],
    sorted,
  )
  return html`<p>${counted}</p>${aged}`
}

function completeness(days: readonly CompleteDay[]): Content {
  if (days.length === 0) return empty('No reads in the last two weeks.')
  const least = Math.min(...days.map(({ present, expected }) => present / expected))
  const meters = new Map(days.map((day) => [day.commodity, day.meters]))
  const sample = [...meters].map(([commodity, number]) => `${number} ${commodity}`).join(', ')
  const shares = table(
    'Share of expected intervals that are present',
    [
      { title: 'day', cell: (day) => oneLine(day) },
      ...[...meters.keys()].flatMap((commodity) => {
        const of = (day: string) =>
          days.find((one) => one.day === day && one.commodity === commodity)
        return [
          { title: commodity, right: true, cell: (day: string) => shareOf(of(day)) },
          { title: '', cell: (day: string) => shareBar(of(day)) },
        ]
      }),
    ],
    [...new Set(days.map(({ day }) => day))].sort().reverse(),
  )
  return html`<p>Sampled meters: ${sample}. Lowest day: ${percent(least)}.</p>${shares}`
}

function shareOf(day: CompleteDay | undefined): string {
  return day === undefined ? '' : percent(day.present / day.expected)
}

function shareBar(day: CompleteDay | undefined): Content {
  if (day === undefined) return ''
  const share = day.present / day.expected
  return bar(share, share < 0.9 ? 'warn' : 'good')
}

function cycles({ today, running, cycles }: CycleDays): Content {
  if (cycles.length === 0) return empty(`No billing cycle has a period on ${today}.`)
  const ending = cycles.filter(({ to }) => to === today).map(({ cycle }) => cycle)
  const ends = ending.length === 0 ? 'None ends today' : `Ending today: ${ending.join(', ')}`
  const dayOf = ({ day, days }: CycleDay) => (day > days ? 'ended' : `${day} of ${days}`)
  const listed = table(
    'Cycles by end date',
    [
      { title: 'cycle', cell: ({ cycle }) => cycle },
      { title: 'last day', cell: ({ to }) => oneLine(to) },
      { title: 'day', right: true, cell: dayOf },
      { title: '', cell: ({ day, days }) => bar(day / days) },
      { title: 'bills', right: true, cell: billsOf },
      { title: 'computed, UTC', cell: ({ billedAt }) => oneLine(billedAt && timestamp(billedAt)) },
    ],
    cycles,
  )
  return html`<p>Current cycles: ${countText(running)}. ${ends}.</p>${listed}`
}

/** Bills with a total, of all bills of the latest run. */
function billsOf({ billed, bills, billedAt }: CycleDay): string {
  return billedAt === '' ? 'none yet' : `${countText(billed)} of ${countText(bills)}`
}

function sources(shown: readonly SourceShown[]): Content {
  return table(
    'Sources of files',
    [
      { title: 'source', cell: ({ name }) => name },
      { title: 'kind', cell: ({ kind }) => kind },
      { title: 'state', cell: ({ state }) => badge(state) },
      { title: 'since', cell: ({ since }) => since && `${since} UTC` },
      {
        title: 'failures',
        right: true,
        cell: ({ failures }) => (failures ? countText(failures) : ''),
      },
      {
        title: 'reason',
        cell: ({ code, detail, others }) => {
          const reason = code === '' ? '' : `${code}: ${detail}`
          return printableText([reason, others].filter((text) => text !== '').join('; '))
        },
      },
    ],
    shown,
  )
}

function queues({ queues, freeBytes, freeBytesMin }: QueuesAndDisk): Content {
  const low = freeBytes < freeBytesMin
  const isIdle = (one: QueueLoad) => one.waiting + one.active + one.delayed + one.failed === 0
  const busy = queues.filter((one) => !isIdle(one))
  const idle = queues.filter(isIdle).map(({ queue }) => queue)
  const disk = `Free disk space for files: ${bytes(freeBytes)}. Below ${bytes(freeBytesMin)}, no files are received.`
  const jobs = table(
    'Jobs by queue',
    [
      { title: 'queue', cell: ({ queue }) => html`<a href="queues/queue/${queue}">${queue}</a>` },
      { title: 'waiting', right: true, cell: ({ waiting }) => countText(waiting) },
      { title: 'active', right: true, cell: ({ active }) => countText(active) },
      { title: 'delayed', right: true, cell: ({ delayed }) => countText(delayed) },
      { title: 'queue age', right: true, cell: ({ oldestMs }) => (oldestMs ? span(oldestMs) : '') },
    ],
    busy,
  )
  const rest = idle.length === 0 ? '' : html`<p class="todo">Empty: ${idle.join(', ')}.</p>`
  return html`<p class=${low ? 'fault' : nothing}>${disk}</p>${busy.length === 0 ? '' : jobs}${rest}`
}
