import { hash } from 'node:crypto'

/** Replaces an identifier in logs by 16 characters, the same for the same identifier. */
export type Pseudonymize = (identifier: string) => string

/**
 * `key` is secret and differs per installation, so that nobody can find an identifier by trying. A
 * key prefix is as safe as an HMAC here because the hash is truncated, at a third of the cost.
 */
export function createPseudonymizer(key: string): Pseudonymize {
  return (identifier) => hash('sha256', `${key}:${identifier}`, 'base64url').slice(0, 16)
}
