import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { IntakeSettings } from '../../schemas/settings/intake.js'
import type { Arrival } from '../ledger/ledger.js'
import { pushSource, uploadSource } from './arrive.js'

/** Identifies a sender in the names of its files on the disk; names of accounts may have any character. */
function senderKey(sender: string): string {
  return createHash('sha256').update(sender).digest('hex').slice(0, 16)
}

/** The name on the disk of a file that a sender uploads. */
export function uploadedAs({ sender, hash, name }: Sent & { readonly hash: string }): string {
  return `${hash}-${senderKey(sender)}-${name}`
}

/** The name of an uploaded file, and its sender if it is one of these; undefined of any other file. */
export function fromUploaded(
  found: string,
  senders: readonly string[],
): { readonly name: string; readonly sender: string | undefined } | undefined {
  const [, key, name] = /^[0-9a-f]{64}-([0-9a-f]{16})-(.+)$/.exec(found) ?? []
  if (name === undefined) return undefined
  return { name, sender: senders.find((sender) => senderKey(sender) === key) }
}

/** The name on the disk of a file of rows that a sender pushed. */
export function pushedAs({ sender, name }: Sent): string {
  return `${senderKey(sender)}-${name}`
}

export interface Sent {
  readonly sender: string
  readonly name: string
}

export function isSentBy({ source, path, name }: Arrival, sender: string): boolean {
  const own = pushedAs({ sender, name })
  if (source === pushSource) return basename(path) === own
  return source === uploadSource && basename(path).slice(65) === own
}

/** Why a sender may not send files of a company and feed; undefined if it may. */
export function findBound(
  { users }: IntakeSettings,
  sender: string,
  file: { readonly companyCode: string; readonly feed: string },
): string | undefined {
  const { companyCodes, feeds } = users.find(({ name }) => name === sender) ?? {}
  const refuse = (what: string, allowed: readonly string[]) =>
    `${sender} may not send ${what}, only ${allowed.join(', ')}; see intake.users in the profile`
  if (companyCodes?.includes(file.companyCode) === false)
    return refuse(file.companyCode, companyCodes)
  const named: readonly string[] | undefined = feeds
  return named?.includes(file.feed) === false ? refuse(file.feed, named) : undefined
}
