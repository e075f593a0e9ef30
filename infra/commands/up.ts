import { join, resolve } from 'node:path'
import { shownRedisUrl } from '../../pipeline/queues/redis-url.js'
import { openHome, refuseForeign } from '../stack/home.js'
import { profilePathOf, readOwnProfile, rememberProfile } from '../stack/profile-file.js'
import type { StartStep } from '../stack/servers.js'
import { type Stack, startStack } from '../stack/stack.js'
import { createLog } from '../telemetry/log.js'
import { type Context, exitCodes } from './context.js'
import type { InUse } from './use-stack.js'

export interface UpOptions {
  readonly clickhousePort?: number
  readonly redisPort?: number
}

/** Runs everything on this machine until Ctrl-C, which stops all child processes. */
export async function up(context: Context, options: UpOptions): Promise<number> {
  const { stack, ...own } = await startHere(context, 'up', options)
  context.print(`\n${describeStack({ ...stack, ...own })}\n\nCtrl-C stops everything`)
  await untilAsked(context, stack)
  return exitCodes.good
}

/** Starts a stack that runs until Ctrl-C, for `up` and the demo. */
export async function startHere(
  context: Context,
  command: string,
  options: UpOptions,
): Promise<{ readonly stack: Stack } & Pick<InUse, 'home' | 'profile'>> {
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const home = openHome(context.homePath)
  refuseForeign(home)
  const stack = await startStack({
    home,
    profile,
    command,
    log: createLog(join(home.logs, 'tieline.log'), command),
    external: context.external,
    secret: context.secret,
    tracing: context.tracing(),
    installs: context.installs,
    say: context.say,
    onStep: (step) => context.print(renderStep(step)),
    ports: {
      ...(options.clickhousePort && { clickhouse: options.clickhousePort }),
      ...(options.redisPort && { redis: options.redisPort }),
    },
  })
  rememberProfile(home.path, profilePathOf(context.profilePath, home.path))
  return { stack, home, profile }
}

/** One line per started part: name, seconds and address. */
export function renderStep({ name, seconds, detail }: StartStep): string {
  return `✓ ${name.padEnd(11)} ${seconds.toFixed(1).padStart(5)} s  ${detail}`.trimEnd()
}

/** Waits for Ctrl-C and stops the stack. */
export async function untilAsked(context: Context, stack: Stack): Promise<void> {
  const { ending } = context
  if (!ending.aborted) {
    await new Promise((resolve) => ending.addEventListener('abort', resolve, { once: true }))
  }
  await stack.close()
  context.say('stopped')
}

/** All addresses, without passwords. */
export function describeStack(stack: InUse & Partial<Pick<Stack, 'gateway' | 'worker'>>): string {
  const { home } = stack
  return [
    `ClickHouse  ${stack.store.url}  database ${stack.store.database}, user ${stack.reader.username}`,
    `Redis       ${shownRedisUrl(stack.redisUrl)}`,
    ...(stack.gateway
      ? [
          `gateway     ${stack.gateway.detail().addresses.join(', ')}`,
          `health      ${stack.gateway.detail().operations}/health/ready`,
        ]
      : []),
    ...(stack.worker
      ? [
          `operations  ${stack.worker.detail().operations}/`,
          `metrics     ${metricsOf(stack).join(', ')}`,
        ]
      : []),
    ...inboxesOf(stack),
    `outbox      ${home.outbox}`,
    `passwords   ${join(home.path, 'secrets.json')}`,
    `logs        ${home.logs}`,
  ].join('\n')
}

/** The folders that files are taken from: the profile may have others than that of the data folder, or none. */
function inboxesOf({ home, profile }: Pick<InUse, 'home' | 'profile'>): readonly string[] {
  return profile.sources.flatMap((source) => {
    if (source.kind !== 'folder') return []
    const path = resolve(home.path, source.path)
    return [`inbox       ${path}${path === home.inbox ? '' : `, source ${source.name}`}`]
  })
}

function metricsOf({ worker, gateway }: Partial<Pick<Stack, 'gateway' | 'worker'>>) {
  const ports = [gateway?.detail().operations, worker?.detail().operations]
  return ports.flatMap((port) => (port === undefined ? [] : [`${port}/metrics`]))
}
