import { z } from 'zod'
import { bindRequestSchema } from '../../schemas/gateway/bind-request.js'
import {
  type CustomerRules,
  customerSchemaBy,
  identifierSchema,
} from '../../schemas/gateway/customer.js'
import type { ErrorStyle } from '../../schemas/settings/gateway.js'
import { denials } from '../answer.js'
import { toConnectPaths } from './openapi-connect.js'
import { intakeSchemas, toIntakePaths } from './openapi-intake.js'
import { type Json, jsonOf, outageOf, withOtherwise } from './openapi-parts.js'
import { pulledSchemas, readSchemas, toPullPaths, toReadPaths } from './openapi-reads.js'

export interface OpenApiOptions {
  /** The first segment of every path. */
  readonly version: string
  readonly isDeprecated: boolean
  readonly errorStyle: ErrorStyle
  readonly unknownStatus: 401 | 404
  /** Which fields of a customer are in every answer. */
  readonly required: CustomerRules['required']
  readonly hasBind: boolean
  /** Whether customers may read their usage. */
  readonly hasReads: boolean
  /** Whether the platform may pull changes. */
  readonly hasPull: boolean
  /** Whether applications of third parties may read. */
  readonly hasConnect: boolean
  /** Whether files and rows are accepted. */
  readonly hasIntake: boolean
}

const loginResult = z
  .object({ clientId: identifierSchema.describe('Permanent identifier of the customer') })
  .meta({ id: 'LoginResult' })
const bindResult = z
  .object({ status: z.enum(['success', 'pending']), message: z.string() })
  .meta({ id: 'BindResult' })
const bindOutcome = z
  .object({
    macAddress: z.string(),
    actionCode: z.int().describe('1 bind, 0 unbind'),
    state: z.enum(['pending', 'success', 'failed', 'unknown']),
    requestedAt: z.iso.datetime(),
  })
  .meta({ id: 'BindOutcome' })
const codes = [...new Set(Object.values(denials).map(({ errorCode }) => errorCode))]
const errorModel = z
  .object({
    errorCode: z
      .literal(codes)
      .describe('1 no account, 2 and 3 attempts left, 4 locked, 86 closed'),
  })
  .meta({ id: 'ErrorModel' })
const wrongRequest = z
  .object({ detail: z.string().describe('The invalid field and how to fix it') })
  .meta({ id: 'WrongRequest' })

const bodies = { loginResult, bindResult, bindOutcome, errorModel, wrongRequest }

/** The gateway as OpenAPI 3.1; its JSON Schemas (2020-12) are generated from the zod schemas. */
export function toOpenApi(options: OpenApiOptions): Json {
  const { version, hasBind, hasIntake, isDeprecated } = options
  const hasMutual = hasBind || hasIntake || options.hasPull
  const reads = { isDeprecated, refused: { ...wrongRead, ...denied(options), ...outage } }
  const bearer = { security: [{ bearer: [] }], ...(isDeprecated && { deprecated: true }) }
  const login = denied({ ...options, errorStyle: 'table' })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tieline gateway',
      version: version.replace('v', ''),
      description: 'A version may add optional fields to its answers: ignore those you do not know',
    },
    servers: [{ url: `/${version}` }],
    paths: withOtherwise({
      '/gateway/login': {
        post: {
          ...bearer,
          operationId: 'login',
          summary: 'Identify the customer of a token',
          responses: { ...good('LoginResult', 'The customer'), ...login, ...outage },
        },
      },
      '/gateway/customer': {
        post: {
          ...bearer,
          operationId: 'customer',
          summary: "Get the customer's account, sites and meters",
          responses: { ...good('Customer', 'The customer'), ...denied(options), ...outage },
        },
      },
      ...(options.hasReads && toReadPaths(reads)),
      ...(options.hasPull && toPullPaths(reads)),
      ...(options.hasConnect && toConnectPaths()),
      ...(hasBind && toBindPaths(options)),
      ...(hasIntake && toIntakePaths({ isDeprecated, refused: denied(options)[401] })),
    }),
    components: {
      schemas: toComponents(options),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        ...(hasMutual && {
          mutual: { type: 'mutualTLS' },
          basic: { type: 'http', scheme: 'basic' },
        }),
      },
    },
  }
}

function toBindPaths(options: OpenApiOptions): Json {
  const mutual = {
    security: [{ mutual: [], basic: [] }],
    ...(options.isDeprecated && { deprecated: true }),
  }
  const mac = { name: 'macAddress', in: 'path', required: true, schema: { type: 'string' } }
  return {
    '/gateway/bind': {
      post: {
        ...mutual,
        operationId: 'bind',
        summary: 'Bind a hub to a meter, or unbind it',
        requestBody: { required: true, content: jsonOf('BindRequest') },
        responses: {
          ...good('BindResult', 'Completed or pending'),
          ...wrong(options),
          ...denied(options),
          ...outage,
        },
      },
    },
    '/gateway/bind/{macAddress}': {
      get: {
        ...mutual,
        operationId: 'bindOutcome',
        summary: "Get the state of the hub's latest action",
        parameters: [mac],
        responses: {
          ...good('BindOutcome', 'The latest action'),
          ...denied(options),
          404: { description: 'No action was requested for this hub' },
          ...outage,
        },
      },
    },
  }
}

const outage = outageOf()

function good(name: string, description: string): Json {
  return { 200: { description, content: jsonOf(name) } }
}

const wrongRead = {
  400: { description: 'The request is invalid', content: jsonOf('WrongRequest') },
} as const

function wrong({ errorStyle }: OpenApiOptions): Json {
  return errorStyle === 'table' ? wrongRead : { 400: { description: 'The request is invalid' } }
}

/** Refusals by status, each with its possible codes. */
function denied({ errorStyle, unknownStatus }: OpenApiOptions): Json {
  const byStatus = new Map<number, Set<number>>()
  for (const [name, { errorCode, tableStatus, bareStatus }] of Object.entries(denials)) {
    const inTable = name === 'unknown' ? unknownStatus : tableStatus
    const status = errorStyle === 'table' ? inTable : bareStatus
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(errorCode))
  }
  const content = errorStyle === 'table' ? { content: jsonOf('ErrorModel') } : {}
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const description = `Refused, errorCode ${[...codes].join(', ')}`
      return [status, { description: errorStyle === 'table' ? description : 'Refused', ...content }]
    }),
  )
}

/** Schemas by name, including the ones that they refer to. */
function toComponents({ hasReads, hasPull, hasIntake, required }: OpenApiOptions): Json {
  const customer = customerSchemaBy({ required })
  const used = {
    ...{ customer, ...bodies },
    ...(hasReads && readSchemas),
    ...(hasPull && pulledSchemas),
    ...(hasIntake && intakeSchemas),
  }
  const outputs = Object.values(used).map((schema) =>
    z.toJSONSchema(schema, { io: 'output', override: leaveOpen }),
  )
  const all = [...outputs, z.toJSONSchema(bindRequestSchema, { io: 'input' })]
  // A referenced schema is listed in its own $defs; the remaining object then has no id.
  const named = all.flatMap(({ $schema: _, $defs = {}, id, ...schema }) => [
    ...(id === undefined ? [] : [[id, schema] as const]),
    ...Object.entries($defs),
  ])
  const text = JSON.stringify(Object.fromEntries(named), (key, value: unknown) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  )
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
}

/** A version may get new fields in its answers (specification 9.3), which zod would exclude. */
function leaveOpen({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}
