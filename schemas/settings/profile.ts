import { z } from 'zod'
import { Fault } from '../fault.js'
import { backfillSettings } from '../gateway/history.js'
import type { RowFormat } from '../manifest.js'
import { fileNames, matchPatterns, type Naming } from '../name-pattern.js'
import { listProblems, type PlaceOf, remedy } from '../problem.js'
import { section } from '../strict.js'
import { createZone, daySeconds } from '../time/zone.js'
import { alertSettings } from './alert.js'
import { billingSettings } from './billing.js'
import { byteSize } from './byte-size.js'
import { billingFormat } from './formats/billing-format.js'
import { usageFormat } from './formats/usage-format.js'
import { findGaps, gatewaySettings } from './gateway.js'
import { sourceSettings } from './source.js'
import { findSharedFolders } from './source-folders.js'
import { workerSettings } from './worker.js'

export { type SecretReference, secretReference } from './secret.js'
export { sourceName } from './source.js'

const companyCode = z.string().regex(/^[A-Za-z0-9]{1,32}$/, 'use 1 to 32 letters and digits')

/** Zones without daylight time whose names are also those of a place's standard time, and what is meant. */
const fixedZones: Readonly<Record<string, readonly [place: string, fixed: string]>> = {
  EST: ['America/New_York', 'America/Panama'],
  MST: ['America/Denver', 'America/Phoenix'],
  HST: ['America/Adak', 'Pacific/Honolulu'],
  GMT: ['Europe/London', 'UTC'],
}

/** Why a zone is not what its reader would expect, if so. */
function findTrap(name: string): string | undefined {
  const [place, fixed] = (Object.hasOwn(fixedZones, name) && fixedZones[name]) || []
  if (place !== undefined) {
    return `${name} has no daylight time all year; use ${place}, or ${fixed} if the clock never changes`
  }
  const [, sign, hours] = /^Etc\/GMT([+-])(\d{1,2})$/.exec(name) ?? []
  if (sign === undefined) return undefined
  const side = sign === '+' ? 'behind' : 'ahead of'
  return `${name} is ${hours} h ${side} UTC, against its sign; use the zone of a place, such as America/Panama`
}

const timeZone = z.string().check((context) => {
  try {
    createZone(context.value)
    const message = findTrap(context.value)
    if (message !== undefined) {
      context.issues.push({ code: 'custom', message, input: context.value })
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const message = error.message.replace('PROFILE: ', '')
    context.issues.push({ code: 'custom', message, input: context.value })
  }
})

const database = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'use letters, digits and _, no digit first')
  .refine((name) => !/^(system|default|information_schema)$/i.test(name), {
    error: "choose a name that is not one of ClickHouse's own",
  })

const intervalRemedy = 'use day, or seconds that divide an hour: 60 to 3600'
const intervalSeconds = z.int().refine((seconds) => seconds >= 60 && 3_600 % seconds === 0, {
  error: intervalRemedy,
})
/** The lengths that reads may have; the first is the default where a file does not show its own. */
const intervals = z
  .array(z.union([z.literal('day'), intervalSeconds], intervalRemedy))
  .min(1, 'name at least one interval')
  .refine(isDistinct, { error: 'name each interval once', when: () => true })
  .readonly()

const usage = section({
  /** How the files of a feed are laid out. */
  format: section({ Electric: usageFormat, Gas: usageFormat }),
  dateOrder: z.enum(['MDY', 'DMY']).default('MDY'),
  stamp: z.enum(['start', 'end']).default('start'),
  clock: z.enum(['wall', 'standard']).default('wall'),
  intervals: section({
    Electric: intervals.default([900, 3_600]),
    Gas: intervals.default(['day', 3_600]),
  }),
  unit: section({
    Electric: z.enum(['kWh', 'Wh']).default('kWh'),
    Gas: z.enum(['ccf', 'cm', 'therm']).default('ccf'),
  }),
  negative: section({ Electric: z.boolean().default(true), Gas: z.boolean().default(false) }),
  /**
   * Whether an estimate yields to a read that is none, whichever came first, or the later one of both
   * counts.
   */
  estimates: z.enum(['yield', 'replace']).default('yield'),
  quantityMax: z.int().min(1).max(999_999_999_999).default(999_999_999),
  /** A read that starts later than this after its file arrived is rejected. */
  futureHours: z.int().min(0).max(87_600).default(24),
  rejectedShareMax: z.number().min(0).max(1).default(0.01),
  /** Days for which reads of registered premises are held for a registration (decision 21). */
  holdDays: z.int().min(1).max(3_650).default(60),
  lateAfterHours: z.number().positive().max(8_760).default(36),
})

const sources = z
  .array(sourceSettings)
  .refine((list) => isDistinct(list.map((source) => source?.name)), {
    error: 'give every source a name of its own',
    when: ({ value }) => Array.isArray(value),
  })
  .superRefine((list, context) => {
    for (const { index, message } of findSharedFolders(list)) {
      context.addIssue({ code: 'custom', path: [index, 'path'], message })
    }
  })
  .readonly()
  .prefault([{ kind: 'folder', name: 'inbox', path: 'inbox' }])

const limits = section({
  fileBytesMax: byteSize('100 GB', { min: '1 KB', max: '100 TB' }),
  rowBytesMax: byteSize('64 KB', { min: '1 KB', max: '1 MB' }),
  ratioMax: z.int().min(2).max(10_000).default(200),
  chunkBytes: byteSize('64 MB', { min: '1 MB', max: '128 MB' }),
  attemptsMax: z.int().min(1).max(100).default(5),
  freeDiskBytesMin: byteSize('1 GB', { min: '0 B', max: '100 TB' }),
})

const files = section({
  /** How the files of a feed of records are laid out. */
  format: section({ Billing: billingFormat }),
  /** Whether the last row of a file needs a line end (decision 20). */
  lastLineEnd: z.enum(['auto', 'required', 'optional']).default('auto'),
  /** Whether columns behind those of the feed are refused or left out. */
  extraColumns: z.enum(['refuse', 'ignore']).default('refuse'),
  /** Names that a source leaves where they are: `*` matches any characters. */
  ignore: z.array(z.string().min(1).max(200)).max(100).readonly().default([]),
})

const rates = section({
  /** Rate files of one company and day wait for each other so long, unless their done-file says so. */
  quietMinutes: z.number().min(0).max(1_440).default(10),
})

const termination = section({
  /** Days behind the end of an account after which its data are erased. */
  graceDays: z.int().min(0).max(36_500).default(30),
})

const store = section({
  /** Whether a majority of the replicas must have rows before they count as stored. */
  durability: z.enum(['one', 'majority']).default('majority'),
  /** The cluster of `system.clusters` whose servers are replicas of the database. */
  cluster: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must have up to 63 letters, digits, - and _')
    .optional(),
})

const days = z.int().min(1).max(36_500)
const retention = section({
  archiveDays: days.default(400),
  stagingDays: days.default(1),
  rejectsDays: days.default(400),
  /** Runs of each billing period whose bills are kept, the latest among them. */
  billRuns: z.int().min(1).max(1_000).default(3),
})

const profile = z
  .strictObject({
    companyCodes: z
      .array(companyCode)
      .min(1, 'name at least one company code')
      .refine(isDistinct, { error: 'name each company code once', when: () => true })
      .readonly(),
    fileNames,
    timeZone,
    database: database.default('tieline'),
    store,
    ingestion: z.enum(['full', 'registered', 'backfill']).default('full'),
    usage,
    files,
    billing: billingSettings,
    rates,
    termination,
    sources,
    limits,
    retention,
    backfill: backfillSettings.optional(),
    worker: workerSettings,
    alerts: alertSettings.optional(),
    ...gatewaySettings,
  })
  .superRefine((value, context) => {
    for (const [index, { company }] of value.alerts?.expected.entries() ?? []) {
      if (value.companyCodes.includes(company)) continue
      const path = ['alerts', 'expected', index, 'company']
      context.addIssue({ code: 'custom', path, message: 'use one of companyCodes' })
    }
    for (const [index, message] of findMisread(value)) {
      context.addIssue({ code: 'custom', path: ['fileNames', index, 'like'], message })
    }
    for (const [index, user] of value.intake?.users.entries() ?? []) {
      if (user.companyCodes?.every((code) => value.companyCodes.includes(code)) !== false) continue
      const path = ['intake', 'users', index, 'companyCodes']
      context.addIssue({ code: 'custom', path, message: 'use some of companyCodes' })
    }
    for (const { path, message } of findGaps(value)) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  })
  .readonly()

/** All that differs between utilities, every default filled in. */
export type Profile = z.output<typeof profile>

/** The interval lengths that a profile allows for the feed of a file, seconds; or the one that it states. */
export function lengthsOf(
  { usage }: Pick<Profile, 'usage'>,
  feed: string,
  { times }: Pick<RowFormat, 'times'> = {},
): readonly number[] {
  if (times?.length !== undefined) return [times.length]
  const intervals = usage.intervals[feed as 'Electric' | 'Gas']
  return intervals.map((interval) => (interval === 'day' ? daySeconds : interval))
}

/** How the times of a file are written: as its format says, else the profile. */
export function timesOf(
  { usage }: Pick<Profile, 'usage'>,
  { times }: Pick<RowFormat, 'times'>,
): Pick<Profile['usage'], 'dateOrder' | 'clock' | 'stamp'> {
  return {
    dateOrder: times?.dateOrder ?? usage.dateOrder,
    clock: times?.clock ?? usage.clock,
    stamp: times?.stamp ?? usage.stamp,
  }
}

/**
 * Checks a profile as it was read from YAML and fills in its defaults. Throws Fault `PROFILE` with
 * all problems, one a line: path, place and remedy, never a value that could be a misplaced secret.
 */
export function parseProfile(value: unknown, placeOf?: PlaceOf): Profile {
  const parsed = profile.safeParse(value, { error: remedy })
  if (parsed.success) return parsed.data
  throw new Fault('PROFILE', listProblems(parsed.error, placeOf))
}

/** Patterns by which the names that Tieline gives to files of rows would mean another day, company or feed. */
function findMisread({
  companyCodes,
  fileNames,
  ...sections
}: Naming & {
  readonly intake?: unknown
  readonly backfill?: unknown
}): readonly (readonly [index: number, message: string])[] {
  if (sections.intake === undefined && sections.backfill === undefined) return []
  const company = companyCodes.at(-1) ?? ''
  return fileNames.flatMap((pattern, index) => {
    const misread = ['Electric', 'Gas'].find((feed) => {
      const meant = { company, day: '11', month: '12', year: '2026', feed }
      const read = matchPatterns(`${company}_11122026_${feed}_1.csv`, {
        companyCodes,
        fileNames: [pattern],
      })
      return read && Object.entries(meant).some(([part, value]) => read[part] !== value)
    })
    if (misread === undefined) return []
    const name = `${company}_11122026_${misread}_1.csv`
    const message = `it reads names that Tieline gives to pushed rows and history, such as ${name} (11 December), in another way; make the pattern differ from <CompanyCode>_<DD><MM><YYYY>_<Feed>_<n>`
    return [[index, message] as const]
  })
}

function isDistinct(values: unknown): boolean {
  return !Array.isArray(values) || new Set(values).size === values.length
}
