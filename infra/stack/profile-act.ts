import { createHash } from 'node:crypto'
import { type Actor, latestAct, recordAct } from '../../pipeline/ledger/audit.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'

/**
 * Writes down that a profile is not the one that was started with last. The subject is the hash of all
 * settings, the detail has one for each section, so that two entries tell which of them differ.
 */
export async function recordProfile(store: Store, actor: Actor, profile: Profile): Promise<void> {
  const subject = hashOf(profile)
  if ((await latestAct(store, 'profile'))?.subject === subject) return
  const sections = Object.entries(profile).filter(([, value]) => value !== undefined)
  const detail = sections.map(([name, value]) => `${name} ${hashOf(value).slice(0, 8)}`).join(', ')
  await recordAct(store, actor, { act: 'profile', subject, detail })
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
