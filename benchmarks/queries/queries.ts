import { writeFileSync } from 'node:fs'
import { grouped } from '../../infra/commands/output/table.js'
import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import { buildDaysAgain } from '../../pipeline/usage/days/build.js'
import { createRig } from '../rig.js'
import { median } from '../usage/figures.js'
import { benchDays, type QuestionFilling, questionInputs } from './fill.js'
import { type GuideQuery, readQuestions } from './questions.js'

export interface QueriesOptions extends QuestionFilling {
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** A query of the guide, as a reader gets its whole result. */
interface QueryFigures {
  readonly number: string
  readonly title: string
  readonly rowsRead: number
  readonly rowsFound: number
  readonly bytes: number
  /** Median of the rounds. */
  readonly seconds: number
  /** Seconds over those of the same query with a tenth of the customers. */
  readonly growth: number
}

/** What `--json` writes. */
export interface QueriesFigures extends QuestionFilling {
  readonly reads: number
  readonly slowestSeconds: number
  readonly slowest: string
  readonly growthMax: number
  readonly queries: readonly QueryFigures[]
}

type Measured = Omit<QueryFigures, 'growth'>

/** Enough that each query finds something: one customer in 200 has a meter of two lengths. */
const customersMin = 200
/** A query reads the reads of a month or two at 10 million a second, and half a second in addition. */
const estimate = ({ customers }: QuestionFilling) => 0.5 + (customers * 24 * 62) / 10e6

/**
 * Runs each query of the guide as a reader, over customers and months made inside the engine, then over a
 * tenth of the customers: the text is that of the guide. The first query pulls the file of the last day.
 */
export async function measureQueries(options: QueriesOptions): Promise<QueriesFigures> {
  const { customers, months, print, json } = options
  print(`estimate: the slowest ${estimate(options).toFixed(1)} s, growth 10 at most`)
  const few = await measure({ ...options, customers: Math.max(1, Math.round(customers / 10)) })
  const many = await measure(options)
  const empty = many.queries.filter(({ rowsFound }) => rowsFound === 0)
  if (empty.length > 0 && customers >= customersMin) {
    throw new Error(`nothing found: ${empty.map(({ number }) => number).join(', ')}`)
  }
  const queries = many.queries.map((one, at) => ({
    ...one,
    growth: one.seconds / (few.queries[at]?.seconds ?? Number.NaN),
  }))
  const slowest = queries.toSorted((a, b) => b.seconds - a.seconds)[0]
  const figures: QueriesFigures = {
    ...{ customers, months, reads: many.reads },
    slowestSeconds: slowest?.seconds ?? Number.NaN,
    slowest: `${slowest?.number}. ${slowest?.title}`,
    growthMax: Math.max(...queries.map(({ growth }) => growth)),
    queries,
  }
  for (const one of queries) print(render(one))
  print(`slowestSeconds ${figures.slowestSeconds.toFixed(3)}: ${figures.slowest}`)
  print(`growth from a tenth of the customers: ${figures.growthMax.toFixed(1)} at most`)
  if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
  return figures
}

function render({ number, title, rowsRead, seconds, growth }: QueryFigures): string {
  const name = `${number}. ${title}`.slice(0, 60).padEnd(60)
  const read = `${grouped(rowsRead)} rows`.padStart(18)
  return `${name} ${read} ${seconds.toFixed(3).padStart(8)} s  growth ${growth.toFixed(1)}`
}

async function measure(options: QueriesOptions) {
  const { rounds, print, ...filling } = options
  const profile = {
    companyCodes: ['BENCH'],
    timeZone: 'America/Detroit',
    usage: { intervals: { Electric: [900, 3_600] } },
    billing: { daysBackMax: 1, dailyHour: 23 },
  }
  const rig = await createRig({ name: 'queries', profile, say: print })
  const reader = createStore(rig.stack.reader)
  try {
    for (const statement of questionInputs(filling)) await rig.store.command(statement)
    await buildDaysAgain(rig.store, benchDays(filling))
    const [counted] = await rig.store.rows<{ n: string }>({
      sql: 'SELECT toString(count()) AS n FROM usage_read',
    })
    const reads = Number(counted?.n)
    print(
      `${grouped(filling.customers)} customers, ${grouped(reads)} reads, made inside the engine`,
    )
    const queries: Measured[] = []
    for (const one of readQuestions()) {
      queries.push(await medianOf(reader, ofLastDay(one, benchDays(filling).length), rounds))
    }
    return { reads, queries }
  } finally {
    await reader.close()
    await rig.close()
  }
}

/** Readers pull what is new: the number before the publication of the last day's file replaces 0. */
function ofLastDay(query: GuideQuery, days: number): GuideQuery {
  if (query.number !== '1') return query
  return { ...query, sql: query.sql.replaceAll('published_seq > 0', `published_seq > ${days}`) }
}

async function medianOf(reader: Store, query: GuideQuery, rounds: number): Promise<Measured> {
  const { number, title, sql } = query
  const seconds: number[] = []
  let read = { bytes: 0, rowsRead: 0, rowsFound: 0 }
  for (let round = 0; round < rounds; round++) {
    const from = performance.now()
    read = await readAll(await reader.stream({ sql }, 'JSONCompact'))
    seconds.push((performance.now() - from) / 1_000)
  }
  return { number, title, ...read, seconds: median(seconds) }
}

/** The end of a result in this format says how many rows it has, and how many were read for it. */
async function readAll(stream: NodeJS.ReadableStream) {
  let [bytes, end] = [0, '']
  for await (const chunk of stream) {
    bytes += chunk.length
    end = (end + chunk.toString('latin1')).slice(-300)
  }
  const [, rowsFound, rowsRead] = /"rows": (\d+),[\s\S]*"rows_read": (\d+)/.exec(end) ?? []
  if (rowsRead === undefined) throw new Error(`the result has no statistics: ${end}`)
  return { bytes, rowsFound: Number(rowsFound), rowsRead: Number(rowsRead) }
}
