import { z } from 'zod'
import { hasInvisible } from '../field.js'
import { parseJson } from '../json.js'
import { identifierSchema, invisibleRemedy } from './customer.js'
import { type InstallCodeVerdict, judgeInstallCode } from './install-code.js'

export interface BindRules {
  /** Whether an address of eight pairs is accepted as well as one of six. */
  readonly eui64: boolean
  readonly installCodeCrc: 'off' | 'warn' | 'enforce'
}

const text = z
  .string()
  .min(1, 'is empty')
  .max(128, 'use at most 128 characters')
  .refine((text) => !hasInvisible(text), invisibleRemedy)

/**
 * The body of a bind request. Specification 2.7: hemProfileId, accountSlid, macAddress and
 * installCode. Other fields are ignored: optional ones may come within a version (section 9.3).
 */
export const bindRequestSchema = z
  .object({
    hemProfileId: text.describe('Customer GUID'),
    accountSlid: text.describe('Account service location'),
    macAddress: z
      .string()
      .regex(
        /^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}((:[0-9A-Fa-f]{2}){2})?$/,
        'use six pairs, 00:11:22:AA:BB:CC',
      )
      .describe('Address of the hub'),
    installCode: z
      .string()
      .regex(/^[0-9A-Fa-f]{16,36}$/, 'use hexadecimal digits: 6, 8, 12 or 16 bytes and their check')
      .describe('Install code of the hub'),
    actionCode: z
      .union([z.literal(1), z.literal(0)], 'use 1 to bind or 0 to unbind')
      .describe('1 bind, 0 unbind')
      .default(1),
    meterId: identifierSchema
      .describe('The meter, if it is not derived from the account service location')
      .optional(),
  })
  .meta({ id: 'BindRequest' })

export type BindRequest = z.output<typeof bindRequestSchema>

export type BindVerdict =
  | { readonly request: BindRequest; readonly checkFails: boolean; readonly detail?: never }
  | { readonly request?: never; readonly detail: string }

/**
 * Reads the body of a bind request. `detail` names the field and the remedy, never the value.
 * `checkFails` reports an install code that is accepted although its check is wrong.
 */
export function readBindRequest(body: string, rules: BindRules): BindVerdict {
  const value = parseJson(body)
  if (value === undefined) return { detail: 'the body is not JSON' }
  const parsed = bindRequestSchema.safeParse(value, { error: explain })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { detail: `${issue?.path.join('.') || 'the body'} ${issue?.message}` }
  }
  const request = { ...parsed.data, macAddress: parsed.data.macAddress.toUpperCase() }
  if (request.macAddress.length > 17 && !rules.eui64) {
    return { detail: 'macAddress use six pairs, 00:11:22:AA:BB:CC' }
  }
  const verdict: InstallCodeVerdict = judgeInstallCode(request.installCode)
  if (verdict === 'badForm') {
    return { detail: 'installCode use 6, 8, 12 or 16 bytes and their 2-byte check' }
  }
  if (verdict === 'badCheck' && rules.installCodeCrc === 'enforce') {
    return {
      detail:
        'installCode has a wrong check (CRC-16/X-25, low byte first): check the code and send it again',
    }
  }
  return { request, checkFails: verdict === 'badCheck' && rules.installCodeCrc === 'warn' }
}

function explain(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_union') return undefined
  if (issue.input === undefined) return 'is missing'
  return issue.code === 'invalid_type' ? `is not of type ${issue.expected}` : undefined
}
