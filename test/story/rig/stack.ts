import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Home, openHome } from '../../../infra/stack/home.js'
import { type Stack, type StackOptions, startStack } from '../../../infra/stack/stack.js'
import { createLog } from '../../../infra/telemetry/log.js'
import { createSubmission, type Submission } from '../../../pipeline/intake/submit.js'
import type { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { type Receipt, receiptSchema } from '../../../schemas/receipt.js'
import { type Profile, parseProfile } from '../../../schemas/settings/profile.js'
import { anyPort } from '../../rig/any-port.js'
import { placeReadyMade } from '../../rig/ready-made.js'

/** The real parts on a folder of their own, and what a story does with them. */
export interface StoryStack {
  readonly home: Home
  readonly stack: Stack
  /** The store as the service sees it. */
  readonly store: Store
  /** The store as a data engineer sees it. */
  readonly reader: Store
  readonly submission: Submission
  /** A folder for files that are handed over. */
  readonly desk: string
  /** Hands a file over and waits for its receipt. */
  load(path: string, options?: { readonly again?: boolean }): Promise<Receipt>
  /** Writes a file to the desk and loads it. */
  loadBytes(name: string, bytes: string | Buffer): Promise<Receipt>
  /** Writes files to the desk and loads them together. */
  loadAll(files: Readonly<Record<string, string>>): Promise<readonly Receipt[]>
  /** Puts a file into the inbox as a sender does: written under another name, then renamed. */
  send(name: string, bytes: string | Buffer): Promise<void>
  /** The receipt in the outbox, once it is there. */
  receiptOf(name: string): Promise<Receipt>
  outbox(name: string): string
  /** Stops everything and starts it again on the same folder, with what differs in the profile. */
  restart(profile: Readonly<Record<string, unknown>>): Promise<void>
  /** All that the logs hold. */
  logs(): string
  close(): Promise<void>
}

export interface StoryOptions {
  readonly profile?: Readonly<Record<string, unknown>>
  readonly limits?: Readonly<Record<string, unknown>>
  readonly stack?: Partial<StackOptions>
}

export const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

const pollMs = 50
/** A look at a store costs what the awaited work needs: looks get a fifth of the time, or two a second. */
const restPerLook = 4
const pollMsMax = 500
/** Ends a wait for what never comes: no measure of how fast it is to come. */
const waitSecondsMax = 600

/** A profile of the demo utility with small chunks and quick polls. */
export function storyProfile(options: StoryOptions = {}) {
  return parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    database: 'story',
    sources: [{ kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1, settlePolls: 2 }],
    limits: { chunkBytes: '1 MB', freeDiskBytesMin: '0 B', ...options.limits },
    ...options.profile,
  })
}

/** Starts ClickHouse, Redis and the worker on a new data folder, on ports that are free. */
export async function createStory(options: StoryOptions = {}): Promise<StoryStack> {
  const path = mkdtempSync(join(tmpdir(), 'tieline-story-'))
  const home = openHome(join(path, 'data'))
  const desk = join(path, 'desk')
  mkdirSync(desk)
  const profile = storyProfile(options)
  if (options.stack?.external === undefined) await placeReadyMade(home.clickhouse, profile)
  const start = (profile: Profile) =>
    startStack({
      home,
      profile,
      log: createLog(join(home.logs, 'tieline.log'), 'story'),
      ports: { clickhouse: port, redis: port + 1_000 },
      ...options.stack,
    })
  const port = anyPort()
  let stack = await start(profile)
  const store = createStore(stack.store)
  const reader = createStore(stack.reader)
  const submission = await createSubmission({
    store: stack.store,
    redisUrl: stack.redisUrl,
    profile,
  })
  const outbox = (name: string) => join(home.outbox, name)
  const load: StoryStack['load'] = async (file, options) => {
    const { arrival } = await submission.submit(file, options)
    return follow(submission, arrival)
  }
  return {
    home,
    get stack() {
      return stack
    },
    store,
    reader,
    submission,
    desk,
    load,
    loadBytes: async (name, bytes) => {
      await writeFile(join(desk, name), bytes)
      return load(join(desk, name))
    },
    loadAll: async (files) => {
      for (const [name, bytes] of Object.entries(files)) await writeFile(join(desk, name), bytes)
      const arrivals = await submission.submitAll(
        Object.keys(files).map((name) => join(desk, name)),
      )
      return Promise.all(arrivals.map(({ arrival }) => follow(submission, arrival)))
    },
    send: (name, bytes) => sendTo(home.inbox, name, bytes),
    receiptOf: async (name) => {
      const receipt = outbox(`${name}.receipt.json`)
      await until(() => readIfThere(receipt) !== undefined)
      return receiptSchema.parse(JSON.parse(readFileSync(receipt, 'utf8')))
    },
    outbox,
    restart: async (more) => {
      await stack.close()
      stack = await start(storyProfile({ ...options, profile: { ...options.profile, ...more } }))
    },
    logs: () => readAll(home.logs),
    close: async () => {
      await submission.close()
      await Promise.all([store.close(), reader.close()])
      await stack.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/** The same, until the test ends. */
export async function openStory(t: Test, options: StoryOptions = {}): Promise<StoryStack> {
  const story = await createStory(options)
  t.teardown(story.close)
  return story
}

/** Waits for the receipt of an arrival. */
export async function follow(submission: Submission, arrival: number): Promise<Receipt> {
  let receipt: Receipt | undefined
  for await (const progress of submission.follow(arrival)) receipt = progress.receipt ?? receipt
  return receiptSchema.parse(receipt)
}

async function sendTo(folder: string, name: string, bytes: string | Buffer): Promise<void> {
  await writeFile(join(folder, `${name}.part`), bytes)
  renameSync(join(folder, `${name}.part`), join(folder, name))
}

/** Waits until something has come true. */
export async function until(reached: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + waitSecondsMax * 1_000
  for (;;) {
    const from = performance.now()
    if (await reached()) return
    if (performance.now() > end)
      throw new Error(`not so after ${waitSecondsMax} seconds: ${reached}`)
    const lookMs = performance.now() - from
    await sleep(Math.min(pollMsMax, Math.max(pollMs, restPerLook * lookMs)))
  }
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The text of all files in a folder. */
export function readAll(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')
}

/** All that Redis holds but for sets of ids, as text. */
export async function dumpOf(redis: ReturnType<typeof createProducerConnection>): Promise<string> {
  const kept: string[] = []
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key)
    if (type === 'hash') kept.push(JSON.stringify(await redis.hgetall(key)))
    if (type === 'stream') kept.push(JSON.stringify(await redis.xrange(key, '-', '+')))
    if (type === 'string') kept.push((await redis.get(key)) ?? '')
  }
  return kept.join('\n')
}
