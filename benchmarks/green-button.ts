import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { grouped } from '../infra/commands/output/table.js'
import { packageRoot } from '../infra/package-root.js'
import type { Store } from '../pipeline/store/clickhouse.js'
import { literal, sql } from '../pipeline/store/sql.js'
import { peakMb, resetPeak } from './memory.js'
import { firstDayOf, questionInputs } from './queries/fill.js'
import { measureOnRig, type Rig } from './rig.js'
import { verdict } from './usage/figures.js'

export interface GreenButtonBenchmark {
  readonly meters: number
  readonly months: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** A feed of all meters of one client, from the start of the command to its last byte. */
interface FeedFigures {
  readonly meters: number
  readonly seconds: number
  readonly megabytes: number
  readonly metersPerSecond: number
  readonly megabytesPerSecond: number
  /** Peaks of the command and of the engine, MB. */
  readonly commandMb: number
  readonly engineMb: number
}

/** What `--json` writes. */
export interface GreenButtonFigures {
  readonly months: number
  readonly reads: number
  readonly tenth: FeedFigures
  readonly whole: FeedFigures
  readonly commandGrowth: number
  readonly engineGrowth: number
}

const growthMax = 1.25
const lookMs = 50
const lastDay = '2026-10-31'
const program = join(packageRoot(import.meta.url), 'dist/infra/main.js')

/**
 * Exports hourly reads and bills of clients with many meters through `tieline green-button`, whose output
 * is counted and thrown away: of a client with a tenth of the meters, then of one with all.
 */
export async function measureGreenButton(
  options: GreenButtonBenchmark,
): Promise<GreenButtonFigures> {
  const { meters, months, print } = options
  print(`estimate: a meter has ${months} parts of three statements at 15 ms and 2.5 MB: 2 a second`)
  print('estimate: memory of a part, whatever the number of meters')
  const sections = {
    usage: { intervals: { Electric: [900, 3_600] } },
    billing: { daysBackMax: 1, dailyHour: 23 },
  }
  return measureOnRig(options, sections, async (rig) => {
    for (const statement of questionInputs({ customers: meters, months })) {
      await rig.store.command(statement)
    }
    const few = Math.ceil(meters / 10)
    await holdTogether(rig.store, few)
    const [counted] = await rig.store.rows<{ n: string }>({
      sql: 'SELECT toString(count()) AS n FROM usage_read',
    })
    const feed = async (client: string, count: number) => {
      const figures = await measureFeed(rig, { client, from: firstDayOf(months), meters: count })
      print(render(figures))
      return figures
    }
    // The first feed warms up.
    await feed('tenth', few)
    const [tenth, whole] = [await feed('tenth', few), await feed('all', meters)]
    const figures = {
      ...{ months, reads: Number(counted?.n), tenth, whole },
      commandGrowth: whole.commandMb / tenth.commandMb,
      engineGrowth: whole.engineMb / tenth.engineMb,
    }
    for (const part of ['command', 'engine'] as const) {
      const growth = figures[`${part}Growth`]
      const text = `memory of the ${part} over that for a tenth ${growth.toFixed(2)}`
      print(verdict(text, growth <= growthMax, growthMax))
    }
    return figures
  })
}

/** Gives all meters to one more client, and the first of them to another. */
async function holdTogether(store: Store, few: number): Promise<void> {
  const own = sql`arrayConcat(['all'], if(toUInt32(meter_id) - 55000000 < ${literal(few)}, ['tenth'], []))`
  await store.command({
    sql: sql`INSERT INTO registration_fact SELECT * REPLACE (arrayJoin(${own}) AS client_id)
      FROM registration_fact WHERE startsWith(account_number, '91')`,
  })
  await store.command({
    sql: sql`INSERT INTO tenancy SELECT * REPLACE (version + 1 AS version, arrayConcat(client_ids, ${own}) AS client_ids,
        arrayMap(h -> (h.1, h.2, h.3, arrayConcat(h.4, ${own}), arrayConcat(h.5, ${own}), h.6), holds) AS holds)
      FROM tenancy FINAL WHERE startsWith(account_number, '91')`,
  })
}

interface Feed {
  readonly client: string
  readonly from: string
  readonly meters: number
}

async function measureFeed({ home, stack }: Rig, { client, from, meters }: Feed) {
  const engine = stack.clickhouse?.pid()
  resetPeak(engine)
  const startedAt = performance.now()
  const range = ['--client', client, '--from', from, '--to', lastDay]
  const child = spawn(process.execPath, [program, '--home', home.path, 'green-button', ...range], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let commandMb = 0
  const look = setInterval(() => {
    commandMb = Math.max(commandMb, peakMb(child.pid) ?? 0)
  }, lookMs)
  const ended = once(child, 'exit')
  const { bytes, points } = await countPoints(child.stdout)
  const [code] = await ended
  clearInterval(look)
  if (code !== 0 || points !== meters) {
    throw new Error(`the feed of ${client} has ${points} of ${meters} meters, exit code ${code}`)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const megabytes = bytes / 1e6
  return {
    ...{ meters, seconds, megabytes },
    ...{ metersPerSecond: meters / seconds, megabytesPerSecond: megabytes / seconds },
    ...{ commandMb, engineMb: peakMb(engine) ?? Number.NaN },
  }
}

const point = '</UsagePoint>'

async function countPoints(feed: AsyncIterable<Buffer>) {
  let [bytes, points, rest] = [0, 0, '']
  for await (const piece of feed) {
    bytes += piece.length
    const parts = (rest + piece.toString('latin1')).split(point)
    points += parts.length - 1
    rest = (parts.at(-1) ?? '').slice(1 - point.length)
  }
  return { bytes, points }
}

function render(figures: FeedFigures): string {
  const { meters, seconds, megabytes, metersPerSecond, megabytesPerSecond } = figures
  const { commandMb, engineMb } = figures
  return (
    `${grouped(meters)} meters, ${megabytes.toFixed(1)} MB in ${seconds.toFixed(1)} s: ` +
    `${metersPerSecond.toFixed(2)} meters and ${megabytesPerSecond.toFixed(2)} MB a second; ` +
    `command ${commandMb.toFixed(0)} MB, engine ${engineMb.toFixed(0)} MB`
  )
}
