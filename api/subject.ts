import { createHmac } from 'node:crypto'

/** Makes of an identifier what logs may hold: 16 characters, the same for the same identifier. */
export type Subject = (identifier: string) => string

/** `key` is the installation's own, so that nobody can find an identifier by trying. */
export function createSubject(key: string): Subject {
  return (identifier) =>
    createHmac('sha256', key).update(identifier).digest('base64url').slice(0, 16)
}
