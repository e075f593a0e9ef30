import type { Readable } from 'node:stream'
import type { FaultCode } from '../schemas/fault.js'
import type { ErrorStyle } from '../schemas/settings/gateway.js'
import type { GatewayResponse } from './request.js'

/**
 * Why a customer or a service account is refused. Specification 7 describes two answers: 401 with the
 * errorCode 1, 2, 3, 4 or 86, or a 4xx status without a body.
 */
export const denials = {
  /** A missing or unverifiable token; wrong credentials of a service account. */
  token: { errorCode: 1, tableStatus: 401, bareStatus: 401 },
  unknown: { errorCode: 1, tableStatus: 401, bareStatus: 404 },
  twoLeft: { errorCode: 2, tableStatus: 401, bareStatus: 401 },
  oneLeft: { errorCode: 3, tableStatus: 401, bareStatus: 401 },
  locked: { errorCode: 4, tableStatus: 401, bareStatus: 403 },
  closed: { errorCode: 86, tableStatus: 401, bareStatus: 403 },
} as const

export type Denial = keyof typeof denials

const cutCode = 'DOWNLOAD_CUT'

/** Thrown within a download to end it before its end; the reason is for the log. */
export function cutDownload(reason: string): Error {
  return Object.assign(new Error(reason), { code: cutCode })
}

/** Why a download ended before its end, without anything having failed; undefined if something has. */
export function readCut(error: unknown): string | undefined {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === cutCode) return message
  return code === 'ERR_STREAM_PREMATURE_CLOSE' ? 'client left' : undefined
}

interface Logged {
  /** Keyed hash of the customer or hub, for the log. */
  readonly pseudonym?: string
  /** Reason for the log: a fault code, or what was wrong with a token or body. */
  readonly reason?: string
  /** What a token has and the profile wants; chosen by the client, so it is for the log alone. */
  readonly reasonDetail?: string
}

/** The decision of a route, before it becomes an HTTP response. */
export type Answer = Logged &
  (
    | { readonly kind: 'good'; readonly body: string }
    /** 202: the data is durable; `location` is the URL of its receipt. */
    | { readonly kind: 'accepted'; readonly body: string; readonly location: string }
    | { readonly kind: 'denied'; readonly denial: Denial }
    /** The request is invalid, 400 unless `status` says otherwise; `detail` names the field and the remedy. */
    | { readonly kind: 'wrong'; readonly detail: string; readonly status?: 413 }
    | { readonly kind: 'bare'; readonly status: number; readonly headers?: Headers }
    /** What a customer or the platform reads; 304 if the client has it already. */
    | {
        readonly kind: 'read'
        readonly status: 200 | 304
        readonly body: string | Buffer
        readonly headers: Headers
      }
    /** What a customer downloads, in pieces; 200 unless it fails before the first one. */
    | { readonly kind: 'download'; readonly stream: Readable; readonly headers: Headers }
    | { readonly kind: 'page'; readonly body: string; readonly type: string }
    /** 503 without a body. */
    | { readonly kind: 'outage'; readonly reason: FaultCode; readonly retrySeconds?: number }
  )

/** Answers an invalid request; the detail is the reason in the log, too. */
export function wrongRequest(detail: string): Extract<Answer, { readonly kind: 'wrong' }> {
  return { kind: 'wrong', detail, reason: detail }
}

type Headers = GatewayResponse['headers']

export interface ErrorStyleOf {
  /** Login sends its code in both styles. */
  readonly style: ErrorStyle
  /** Whether an invalid request is answered without a body in the style `status`. */
  readonly hidesDetail?: boolean | undefined
  /** Status for a valid token without an account. */
  readonly unknownStatus: 401 | 404
}

export interface Rendered {
  readonly status: number
  readonly body: string | Buffer
  readonly stream?: Readable
  readonly headers: Headers
  readonly errorCode: number | undefined
}

const none: Headers = []
const json: Headers = [['Content-Type', 'application/json']]

/** Renders an answer as status, header fields and body, in one of the two styles. */
export function render(
  answer: Answer,
  { style, unknownStatus, hidesDetail = false }: ErrorStyleOf,
): Rendered {
  switch (answer.kind) {
    case 'good':
      return { status: 200, body: answer.body, headers: json, errorCode: undefined }
    case 'accepted': {
      const headers: Headers = [...json, ['Location', answer.location]]
      return { status: 202, body: answer.body, headers, errorCode: undefined }
    }
    case 'denied': {
      const { errorCode, tableStatus, bareStatus } = denials[answer.denial]
      if (style === 'status') return { status: bareStatus, body: '', headers: none, errorCode }
      const status = answer.denial === 'unknown' ? unknownStatus : tableStatus
      return { status, body: `{"errorCode":${errorCode}}`, headers: json, errorCode }
    }
    case 'wrong': {
      const { status = 400, detail } = answer
      if (hidesDetail && style === 'status') {
        return { status, body: '', headers: none, errorCode: undefined }
      }
      const body = JSON.stringify({ detail })
      return { status, body, headers: json, errorCode: undefined }
    }
    case 'read': {
      const { status, body, headers } = answer
      return { status, body, headers, errorCode: undefined }
    }
    case 'download': {
      const { stream, headers } = answer
      return { status: 200, body: '', stream, headers, errorCode: undefined }
    }
    case 'page':
      return {
        status: 200,
        body: answer.body,
        headers: [['Content-Type', answer.type]],
        errorCode: undefined,
      }
    case 'bare':
      return {
        status: answer.status,
        body: '',
        headers: answer.headers ?? none,
        errorCode: undefined,
      }
    case 'outage': {
      const headers: Headers =
        answer.retrySeconds === undefined ? none : [['Retry-After', String(answer.retrySeconds)]]
      return { status: 503, body: '', headers, errorCode: undefined }
    }
  }
}
