import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { Test } from 'tap'
import {
  type ClickHouseOptions,
  createClickHouse,
  type EmbeddedClickHouse,
} from '../../../infra/clickhouse/start.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'

export const writer = { user: 'tieline', password: "pass'word é" }
export const reader = { user: 'analyst', password: 'only looks' }

export interface Running {
  readonly store: EmbeddedClickHouse
  readonly client: ClickHouseClient
  readonly analyst: ClickHouseClient
  readonly dataPath: string
  readonly events: string[]
  rows<T>(query: string, options?: RowOptions): Promise<T[]>
}

export interface RowOptions {
  readonly params?: Record<string, unknown>
  readonly settings?: Record<string, string | number>
  readonly session?: string
}

/** Starts an engine on a folder of its own and ends it with the test. */
export async function running(t: Test, more: Partial<ClickHouseOptions> = {}): Promise<Running> {
  const dataPath = more.dataPath ?? createFolder(t)
  const events: string[] = []
  const start = (port: number) =>
    createClickHouse({
      port,
      writer,
      reader,
      memoryBytesMax: 2 * 1024 ** 3,
      onEvent: (event) => events.push(event),
      ...more,
      dataPath,
    })
  const store = await onFreePort(anyPort(), start)
  const client = clientOf(store.url, writer)
  const analyst = clientOf(store.url, reader)
  t.teardown(async () => {
    await Promise.all([client.close(), analyst.close()])
    await store.close()
  })
  return { store, client, analyst, dataPath, events, rows: rowsOf(client) }
}

export function clientOf(
  url: string,
  who: { user: string; password: string },
  more: Parameters<typeof createClient>[0] = {},
): ClickHouseClient {
  return createClient({
    url,
    username: who.user,
    password: who.password,
    max_open_connections: 100,
    log: { level: ClickHouseLogLevel.OFF },
    ...more,
  })
}

export function rowsOf(client: ClickHouseClient): Running['rows'] {
  return async <T>(query: string, options: RowOptions = {}): Promise<T[]> => {
    const result = await client.query({
      query,
      format: 'JSONEachRow',
      ...(options.params && { query_params: options.params }),
      ...(options.settings && { clickhouse_settings: options.settings }),
      ...(options.session && { session_id: options.session }),
    })
    return result.json<T>() as Promise<T[]>
  }
}

/** Asks over plain HTTP, as curl would. */
export function ask(url: string, init: RequestInit & { as?: typeof writer } = {}) {
  const { user, password } = init.as ?? writer
  const basic = Buffer.from(`${user}:${password}`).toString('base64')
  return fetch(url, { ...init, headers: { Authorization: `Basic ${basic}`, ...init.headers } })
}
