import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

const policyPath = '/usr/sbin/policy-rc.d'

/** Sees to it that a program of a Debian package is here: as root installed, no service started. */
export function ensureProgram(path: string, packageName: string): string {
  if (existsSync(path)) return path
  const apt = (...args: string[]) =>
    execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  const isOurs = !existsSync(policyPath)
  if (isOurs) writeFileSync(policyPath, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    apt('update')
    apt('install', '-y', '--no-install-recommends', packageName)
  } finally {
    if (isOurs) rmSync(policyPath, { force: true })
  }
  if (!existsSync(path)) throw new Error(`${packageName} could not be installed`)
  return path
}
