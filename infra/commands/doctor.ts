import { Fault, faultCodes } from '../../schemas/fault.js'
import { bad, type Check, type Finding } from '../checks/check.js'
import { fileChecks } from '../checks/files.js'
import { machineChecks } from '../checks/machine.js'
import { mdmChecks } from '../checks/mdm.js'
import { serverChecks } from '../checks/servers.js'
import { sourceChecks } from '../checks/sources.js'
import { type Context, exitCodes } from './context.js'

const marks = { good: '✓', warning: '!', bad: '✗' } as const

/**
 * Looks at the machine, the servers and the profile, starts nothing, and says for each thing that
 * is not good what to do. The exit code is 1 when something is bad.
 */
export async function doctor(context: Context): Promise<number> {
  const checks = [...machineChecks, ...serverChecks, ...sourceChecks, ...mdmChecks, ...fileChecks]
  const findings = await Promise.all(checks.map((check) => examine(check, context)))
  for (const [index, finding] of findings.entries()) {
    context.print(lineOf(checks[index]?.name ?? '', finding))
  }
  const poor = findings.filter(({ state }) => state === 'bad').length
  context.print(poor === 0 ? '\nEverything that is needed is here.' : `\n${poor} to be mended.`)
  return poor === 0 ? exitCodes.good : exitCodes.fault
}

async function examine(check: Check, context: Context): Promise<Finding> {
  try {
    return await check.look(context)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return bad(error.message, faultCodes[error.code].meaning)
  }
}

function lineOf(name: string, finding: Finding): string {
  const below = `\n${' '.repeat(15)}`
  const line = `${marks[finding.state]} ${name.padEnd(12)} ${finding.detail.replaceAll('\n', below)}`
  return finding.todo === undefined ? line : `${line}${below}→ ${finding.todo}`
}
