import { Fault, faultCodes } from '../../schemas/fault.js'
import { certificateChecks } from '../checks/certificates.js'
import { bad, type Check, type CheckResult } from '../checks/check.js'
import { erasureChecks } from '../checks/erasures.js'
import { fileChecks } from '../checks/files.js'
import { machineChecks } from '../checks/machine.js'
import { mdmChecks } from '../checks/mdm.js'
import { rateChecks } from '../checks/rates.js'
import { serverChecks } from '../checks/servers.js'
import { sourceChecks } from '../checks/sources.js'
import { systemChecks } from '../checks/systems.js'
import { type Context, exitCodes } from './context.js'

const marks = { good: '✓', skipped: '-', warning: '!', bad: '✗' } as const

/**
 * Checks the machine, the servers and the profile without starting anything, and prints a remedy
 * for each problem. The exit code is 1 if a check failed.
 */
export async function doctor(context: Context): Promise<number> {
  const checks = [
    ...[...machineChecks, ...serverChecks, ...certificateChecks, ...sourceChecks],
    ...[...systemChecks, ...mdmChecks, ...fileChecks, ...rateChecks, ...erasureChecks],
  ]
  const results = await Promise.all(checks.map((check) => runCheck(check, context)))
  for (const [index, result] of results.entries()) {
    context.print(lineOf(checks[index]?.name ?? '', result))
  }
  const count = (wanted: CheckResult['state']) =>
    results.filter(({ state }) => state === wanted).length
  const [failed, warnings] = [count('bad'), count('warning')]
  const problems = failed === 1 ? '1 problem' : `${failed || 'No'} problems`
  const also = warnings === 0 ? '' : ` and ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`
  context.print(`\n${problems}${also} found.`)
  return failed === 0 ? exitCodes.good : exitCodes.fault
}

async function runCheck(check: Check, context: Context): Promise<CheckResult> {
  try {
    return await check.look(context)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return bad(error.message, faultCodes[error.code].meaning)
  }
}

function lineOf(name: string, result: CheckResult): string {
  const below = `\n${' '.repeat(15)}`
  const line = `${marks[result.state]} ${name.padEnd(12)} ${result.detail.replaceAll('\n', below)}`
  return result.todo === undefined ? line : `${line}${below}→ ${result.todo}`
}
