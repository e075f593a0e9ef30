import { z } from 'zod'
import { type FeedName, feedNames } from '../feed.js'
import { strict } from '../strict.js'
import { serviceUser } from './gateway-bind.js'

/** Who may upload files and push rows over mutual TLS, and how rows are gathered into files. */
export const intakeSettings = strict({
  users: z
    .array(
      strict({
        ...serviceUser,
        /** What the sender is bound to; all that the profile has by default. */
        companyCodes: z.array(z.string().min(1)).min(1).readonly().optional(),
        feeds: z
          .array(z.enum(feedNames as readonly [FeedName, ...FeedName[]]))
          .min(1)
          .readonly()
          .optional(),
      }),
    )
    .min(1, 'name at least one user')
    .readonly(),
  /** How long rows are gathered into one file. */
  gatherSeconds: z.int().min(1).max(3_600).default(10),
})
export type IntakeSettings = z.output<typeof intakeSettings>

/** A file that a sender uploads, in one go or several. */
export interface Upload {
  /** The authenticated name of whoever sends it. */
  readonly sender: string
  readonly name: string
  /** SHA-256 of the whole file, hexadecimal. */
  readonly hash: string
  readonly bytes: number
  /** Where what is sent begins; undefined asks how much is here. */
  readonly from: number | undefined
}

export type Taken =
  | { readonly kind: 'arrived'; readonly arrival: number }
  /** Not all of it is here: the sender goes on from `bytes`. */
  | { readonly kind: 'part'; readonly bytes: number }
  | { readonly kind: 'wrong'; readonly detail: string }

export interface PushedRows {
  /** The authenticated name of whoever sends them. */
  readonly sender: string
  readonly feed: string
  readonly format: 'csv' | 'ndjson'
  readonly text: string
}

export type Gathered =
  | { readonly kind: 'gathered'; readonly fileName: string; readonly rows: number }
  | { readonly kind: 'wrong'; readonly detail: string }

/**
 * What takes in files and rows that are sent here. Whatever it says is taken is on the disk by then.
 * Faults: `DISK_FULL`, `PERMISSION`, `STORE_UNREACHABLE`.
 */
export interface Intake {
  take(upload: Upload, bytes: AsyncIterable<Buffer>): Promise<Taken>
  push(rows: PushedRows): Promise<Gathered>
  /**
   * The receipt of an arrival, or of the latest of a name, as JSON. Undefined where there is none of
   * the sender's own.
   */
  receipt(of: { readonly sender: string; readonly of: string }): Promise<string | undefined>
  close(): Promise<void>
}
