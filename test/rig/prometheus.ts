import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findProgram, installPackage } from '../../infra/redis/install.js'
import { freePort } from '../api/identity/provider.js'
import { until } from '../story/rig/stack.js'
import { createFolder } from './folder.js'

/** Prometheus with its promtool, from Debian's package where they are not here. */
export async function ensurePrometheus(say: (line: string) => void): Promise<void> {
  if ((await findProgram('promtool')) !== undefined) return
  say('prometheus is not here: installing it from the Debian package')
  await installPackage('prometheus')
}

export interface Prometheus {
  /** The results of an expression, as many as there are. Rejects where Prometheus refuses it. */
  ask(expression: string): Promise<readonly { readonly metric: Record<string, string> }[]>
}

/** Runs Prometheus over some addresses, which it scrapes twice a second, until the test ends. */
export async function createPrometheus(t: Test, targets: readonly string[]): Promise<Prometheus> {
  const folder = createFolder(t)
  const hosts = targets.map((target) => `'${new URL(target).host}'`)
  const config = join(folder, 'prometheus.yaml')
  writeFileSync(
    config,
    `global: { scrape_interval: 500ms }
scrape_configs: [{ job_name: tieline, static_configs: [{ targets: [${hosts.join(', ')}] }] }]
`,
  )
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true
  await until(isReady)
  return {
    ask: async (expression) => {
      const answer = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      })
      const { status, error, data } = (await answer.json()) as Answer
      if (status !== 'success') throw new Error(`${expression}: ${error}`)
      return data.result
    },
  }
}

interface Answer {
  readonly status: string
  readonly error?: string
  readonly data: { readonly result: readonly { readonly metric: Record<string, string> }[] }
}
