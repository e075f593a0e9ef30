import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { id, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { Receipt } from '../../schemas/receipt.js'
import { factsOf, type ProposedFeed } from '../propose/feeds.js'
import { adviseNames, judgeSamples, nameForLoad, withSection } from '../propose/judge.js'
import { type Proposal, propose } from '../propose/proposal.js'
import { readSample, type SentSample } from '../propose/sample.js'
import { renderSection, toSection, toSettings } from '../propose/section.js'
import type { Answers } from '../setup/questions.js'
import { withStore } from '../stack/connections.js'
import { readProfile } from '../stack/profile-file.js'
import { parseYaml, toYaml, withSettings } from '../yaml.js'
import { type Context, exitCodes } from './context.js'
import { doctor } from './doctor.js'
import { type Ask, init, onTerminal } from './init.js'
import { followFiles } from './output/follow.js'
import { grouped, renderTable } from './output/table.js'
import { answersOf, baseOf, isClean, renderJudged, renderProposal } from './propose.js'
import { useStack } from './use-stack.js'

export interface OnboardOptions extends Answers {
  /** `setting=value`, as YAML. */
  readonly answer: readonly string[]
  readonly commodity?: string
}

/**
 * Brings a utility on board from sample files: profile, settings of the format, doctor, and a first load into a
 * staging database whose reads are compared with the samples. What a run has completed is in files, so a later
 * run goes on from there. The exit code is 2 while a question is open or a sample is not loaded completely.
 */
export async function onboard(
  context: Context,
  paths: readonly string[],
  options: OnboardOptions,
): Promise<number> {
  const { profilePath } = context
  if (profilePath === undefined) {
    throw new Fault('CONFIG', 'set --profile to the file that becomes the profile of the utility')
  }
  const own = { ...context, profilePath }
  const samples = await Promise.all(paths.map(readSample))
  await makeProfile(own, options)
  const proposal = await settle(own, samples, options)
  if (proposal?.feed === undefined) return exitCodes.quarantined
  const { feed } = proposal
  const { settings } = baseOf(profilePath)
  const profile = withSection(settings, toSection(proposal))
  const checked = await judgeSamples(samples, { profile, feed, ending: context.ending })
  context.print(renderJudged(checked, feed))
  if (!checked.every(({ receipt }) => isClean(receipt))) {
    context.print('\nRows are rejected. Fix the samples or answer otherwise, then run this again.')
    return exitCodes.quarantined
  }
  writeFileSync(profilePath, withSettings(readFileSync(profilePath, 'utf8'), toSettings(proposal)))
  step(context, `3 of 4: ${profilePath} has the settings; doctor`)
  const health = await doctor(own)
  if (health !== exitCodes.good) return health
  step(context, '4 of 4: first load, into a staging database')
  return loadStaging(own, { samples, feed, checked: checked.map(({ receipt }) => receipt) })
}

type OwnContext = Context & { readonly profilePath: string }

function step({ print }: Context, text: string): void {
  print(`\n── Step ${text}\n`)
}

/** Writes the profile unless an earlier run has. */
async function makeProfile(context: OwnContext, flags: OnboardOptions): Promise<void> {
  step(context, '1 of 4: the profile')
  if (existsSync(context.profilePath)) {
    const { companyCodes, timeZone, database } = readProfile(context.profilePath)
    context.print(`${context.profilePath}: ${companyCodes.join(', ')}, ${timeZone}, ${database}`)
    return
  }
  const { answer: _, commodity: __, ...answers } = flags
  await init(context, answers)
}

/** A proposal without open questions; undefined where nobody can be asked. */
async function settle(
  context: OwnContext,
  samples: readonly SentSample[],
  options: OnboardOptions,
): Promise<Proposal | undefined> {
  step(context, '2 of 4: the settings that read the samples')
  const { timeZone } = readProfile(context.profilePath)
  const answers = createAnswers(context.profilePath, answersOf(options))
  const look = () => propose(samples, { answers: answers.all(), timeZone })
  let proposal = look()
  const isOpen = () => proposal.findings.some(({ question }) => question !== undefined)
  if (isOpen() && process.stdin.isTTY === true) {
    await onTerminal(context, async (ask) => {
      while (isOpen()) {
        await answerFirst(proposal, { ask, answers })
        proposal = look()
      }
    })
  }
  context.print(renderProposal(proposal, renderSection(proposal)))
  return isOpen() ? undefined : proposal
}

interface StoredAnswers {
  readonly all: () => ReadonlyMap<string, string>
  readonly add: (setting: string, answer: string) => void
}

/** Answers, kept beside the profile: those of a terminal are not asked for again. */
function createAnswers(profilePath: string, given: ReadonlyMap<string, string>): StoredAnswers {
  const path = profilePath.replace(/(\.ya?ml)?$/, '.answers.yaml')
  const kept: Record<string, string> = existsSync(path)
    ? (parseYaml(readFileSync(path, 'utf8')) as Record<string, string>)
    : {}
  const add = (setting: string, answer: string) => {
    kept[setting] = answer
    const lines = Object.entries(kept).map(([name, text]) => `${toYaml(name)}: ${toYaml(text)}`)
    writeFileSync(path, `# Answers to the questions of tieline onboard\n${lines.join('\n')}\n`)
  }
  for (const [setting, answer] of given) add(setting, answer)
  return { all: () => new Map(Object.entries(kept)), add }
}

async function answerFirst(
  { findings }: Proposal,
  { ask, answers }: { readonly ask: Ask; readonly answers: StoredAnswers },
): Promise<void> {
  const open = findings.find(({ question }) => question !== undefined)
  if (open === undefined) return
  const text = await ask(`${open.evidence}.\n${open.setting}: ${open.question} `)
  if (text === undefined) {
    throw new Fault('CONFIG', `${open.setting} is open, and the input has ended; run this again`)
  }
  if (text.trim() !== '') answers.add(open.setting, text.trim())
}

interface FirstLoad {
  readonly samples: readonly SentSample[]
  readonly feed: ProposedFeed
  /** Receipts of the judgement, in the order of the samples. */
  readonly checked: readonly Receipt[]
}

/** Sections that a staging database must not serve or send from. */
const liveSections = [
  'gateway',
  'identity',
  'cis',
  'ami',
  'bind',
  'intake',
  'reads',
  'alerts',
  'backfill',
  'login',
  'errorStyle',
  'closedStatuses',
]

/**
 * A copy of the profile that loads into a database and a data folder of its own. Other settings have others:
 * what was loaded by them would be mixed with this.
 */
function writeStagingProfile({ profilePath, homePath }: OwnContext) {
  const settings = parseYaml(readFileSync(profilePath, 'utf8')) as Record<string, unknown>
  const kept = Object.entries(settings).filter(([name]) => !liveSections.includes(name))
  const { database, usage, timeZone } = readProfile(profilePath)
  const mark = createHash('sha256')
    .update(JSON.stringify([usage, timeZone]))
    .digest('hex')
    .slice(0, 8)
  // Beside the data folder, which does not exist before Tieline is started.
  const folder = `${resolve(homePath)}-staging-${mark}`
  mkdirSync(folder, { recursive: true })
  const own = {
    ...Object.fromEntries(kept),
    database: `${database.slice(0, databaseLengthMax)}_staging_${mark}`,
    ingestion: 'full',
    sources: [{ kind: 'folder', name: 'inbox', path: 'inbox' }],
  }
  const path = join(folder, 'profile.yaml')
  writeFileSync(path, toYaml(own))
  return { path, folder }
}

/** So that its staging database has a name of at most 63 characters. */
const databaseLengthMax = 45

async function loadStaging(
  context: OwnContext,
  { samples, feed, checked }: FirstLoad,
): Promise<number> {
  const { path, folder } = writeStagingProfile(context)
  const profile = readProfile(path)
  const staging = { ...context, profilePath: path, homePath: join(folder, 'data') }
  const copies = samples.map((sample, at) => {
    const copy = resolve(folder, nameForLoad(sample, { profile, feed, at }))
    copyFileSync(sample.path, copy)
    return copy
  })
  const compared = await useStack(staging, 'onboard', async (stack) => {
    const arriving = copies.map((copy) => ({
      name: basename(copy),
      bytes: statSync(copy).size,
      arrive: async (
        submission: Parameters<Parameters<typeof followFiles>[1][number]['arrive']>[0],
      ) => (await submission.submit(copy)).arrival,
    }))
    const followed = await followFiles(stack, arriving, context.say)
    return withStore(stack.store, (store) =>
      Promise.all(
        followed.map(async ({ receipt }, at) => {
          const stored = await storedOf(store, feed, receipt.fileId ?? '')
          return compare(samples[at]?.name ?? '', checked[at] as Receipt, stored)
        }),
      ),
    )
  })
  context.print(renderTable(comparedColumns, compared.flat()))
  const isEqual = compared.flat().every((one) => one.sample === one.stored)
  context.print(
    isEqual ? nextSteps(context, samples, feed) : '\nThe stored rows differ from the samples.',
  )
  return isEqual ? exitCodes.good : exitCodes.quarantined
}

interface StoredRows {
  readonly rows: string
  readonly quantity: string
  readonly meters: string
}

/** The rows of a file that its readers see. */
async function storedOf(
  store: Store,
  feed: ProposedFeed,
  fileId: string,
): Promise<StoredRows | undefined> {
  const { quantity, view } = factsOf(feed)
  const counted = sql`SELECT count() AS rows, toString(sum(${id(quantity)})) AS quantity,
      uniqExact(meter_id) AS meters FROM ${id(view)} WHERE file_id = ${fileId}`
  return (await store.rows<StoredRows>({ sql: counted }))[0]
}

interface Compared {
  readonly file: string
  readonly what: string
  readonly sample: string
  readonly stored: string
}

/** The accepted rows of a sample beside those that the staging database has of it. */
function compare(
  file: string,
  receipt: Receipt,
  stored: StoredRows | undefined,
): readonly Compared[] {
  const { rows, quantity, meters } = receipt
  return [
    { file, what: 'rows', sample: String(rows.accepted), stored: String(stored?.rows ?? 0) },
    {
      file,
      what: 'sum',
      sample: String(Number(quantity?.accepted)),
      stored: String(Number(stored?.quantity)),
    },
    ...(meters == null
      ? []
      : [{ file, what: 'meters', sample: String(meters), stored: String(stored?.meters ?? 0) }]),
  ]
}

const comparedColumns = [
  { title: 'file', cell: ({ file }: Compared) => file },
  { title: '', cell: ({ what }: Compared) => what },
  { title: 'sample', right: true, cell: ({ sample }: Compared) => grouped(sample) },
  { title: 'stored', right: true, cell: ({ stored }: Compared) => grouped(stored) },
  { title: '', cell: ({ sample, stored }: Compared) => (sample === stored ? '✓' : '✗') },
]

function nextSteps(
  { profilePath, homePath }: OwnContext,
  samples: readonly SentSample[],
  feed: ProposedFeed,
): string {
  return [
    '',
    'The staging database has the rows of the samples.',
    ...adviseNames(samples, { profilePath, feed }),
    'Compare these sums with those of the system that the files are from. Then start:',
    `  tieline up --profile ${profilePath} --home ${homePath}`,
  ].join('\n')
}
