import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { basic } from '../../api/rig.js'
import type { GatewayStory } from './gateway.js'
import { header, until } from './stack.js'

export interface Call {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Sends so many bytes, and ends the connection when some have come. */
  readonly cutAfter?: number
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

export const digestOf = (text: string) =>
  `sha-256=:${createHash('sha256').update(text).digest('base64')}:`

export const rowsOf = (day: number, meters: number) =>
  Array.from({ length: meters }, (_, at) => `A${at},S${at},M${at},3/${day}/2024 0:00,1`)
export const fileOf = (day: number, meters = 3) =>
  `${[header, ...rowsOf(day, meters)].join('\n')}\n`

/** Sends files and rows to the intake of a story's gateway, as `platform` unless another is named. */
export function createSending({ story, certificates, mutualUrl }: GatewayStory) {
  function call(path: string, { method, headers, body = '', cutAfter }: Call): Promise<Answered> {
    const { caFile, clientCertFile, clientKeyFile } = certificates
    return new Promise((resolve, reject) => {
      const request = https.request(`${mutualUrl}/v1/${path}`, {
        method,
        agent: false,
        ca: readFileSync(caFile),
        cert: readFileSync(clientCertFile),
        key: readFileSync(clientKeyFile),
        headers: {
          authorization: basic,
          ...(!headers?.['transfer-encoding'] && { 'content-length': body.length }),
          ...headers,
        },
      })
      request.once('error', reject)
      request.once('response', async (response) => {
        let text = ''
        for await (const piece of response) text += piece
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
      if (cutAfter === undefined) request.end(body)
      else {
        request.write(body.slice(0, cutAfter))
        void until(() => partBytes() > 0).then(() => request.destroy())
      }
    })
  }

  const partBytes = () =>
    readdirSync(story.home.uploads)
      .filter((name) => name.endsWith('.part'))
      .reduce((sum, name) => sum + statSync(join(story.home.uploads, name)).size, 0)

  const put = (name: string, text: string, more: Partial<Call> = {}) =>
    call(`files/${name}`, {
      method: 'PUT',
      body: text,
      ...more,
      headers: { 'repr-digest': digestOf(text), ...more.headers },
    })

  const receiptAt = async (location: unknown, headers: object | false = {}) =>
    JSON.parse(
      (await call(String(location).slice(4), { method: 'GET', headers: { ...headers } })).text,
    )

  const ended = async (location: unknown, headers: object | false = {}) => {
    await until(async () => 'rows' in (await receiptAt(location, headers)))
    return receiptAt(location, headers)
  }

  const push = (body: string, more: Readonly<Record<string, string>> = {}) =>
    call('usage', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-ndjson', feed: 'Electric', ...more },
    })

  return { call, put, push, ended, receiptAt, partBytes }
}
