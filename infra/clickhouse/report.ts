import type { Credentials } from './http/auth.js'

/** First message of the parent; secrets are sent this way, never by argv. */
export interface EngineOptions {
  readonly dataPath: string
  readonly port: number
  readonly writer: Credentials
  readonly reader: Credentials
  readonly memoryBytesMax: number
}

export type EngineReport =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }
