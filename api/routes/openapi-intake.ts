import { z } from 'zod'
import { pushedColumns } from '../../schemas/gateway/pushed-rows.js'
import { receiptSchema } from '../../schemas/receipt.js'
import { type Json, jsonOf, outageOf } from './openapi-parts.js'

const receipt = z.string().describe('The path of the receipt')
/** Schemas of what the intake answers. */
export const intakeSchemas = {
  uploaded: z.object({ arrival: z.int(), fileId: z.string(), receipt }).meta({ id: 'Uploaded' }),
  pushed: z.object({ rows: z.int(), fileName: z.string(), receipt }).meta({ id: 'Pushed' }),
  receipt: receiptSchema.meta({ id: 'Receipt' }),
  progress: z.object({ fileName: z.string(), status: z.string() }).meta({ id: 'Progress' }),
} as const

const inHeader = (name: string, isRequired: boolean, description: string): Json => ({
  name,
  in: 'header',
  required: isRequired,
  description,
  schema: { type: 'string' },
})
const detail = jsonOf('WrongRequest')
const durable = (name: string): Json => ({
  202: {
    description: 'The data is durable; Location is the URL of its receipt',
    headers: { Location: { schema: { type: 'string' } } },
    content: jsonOf(name),
  },
})
const file = { description: 'The content of the file', content: { 'application/octet-stream': {} } }

const refusedBy = (denied: unknown): Json => ({
  400: { description: 'The request is invalid', content: detail },
  401: denied,
  ...outageOf('Outage, not enough free disk space, or a file whose load has to end first'),
})

interface IntakePathsOptions {
  readonly isDeprecated: boolean
  /** The answer to wrong credentials of a service account. */
  readonly refused: unknown
}

/** The paths that receive files and rows. */
export function toIntakePaths({ isDeprecated, refused: denied }: IntakePathsOptions): Json {
  const refused = refusedBy(denied)
  const mutual = {
    security: [{ mutual: [], basic: [] }],
    ...(isDeprecated && { deprecated: true }),
  }
  const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } }
  return {
    '/files/{name}': {
      put: {
        ...mutual,
        operationId: 'upload',
        summary: 'Upload a file, or the remaining part of it',
        parameters: [
          name,
          inHeader('Repr-Digest', true, 'sha-256=:<base64>: of the complete file'),
          inHeader(
            'Content-Range',
            false,
            'bytes <from>-<to>/<all>, or bytes */<all> to ask for the offset',
          ),
        ],
        requestBody: { required: true, ...file },
        responses: {
          ...durable('Uploaded'),
          409: {
            description: 'Incomplete: resume at Upload-Offset',
            headers: { 'Upload-Offset': { schema: { type: 'integer' } } },
          },
          ...refused,
        },
      },
      get: {
        ...mutual,
        operationId: 'receipt',
        summary: 'Get the receipt of an arrival or of the latest file of a name, or its progress',
        parameters: [name],
        responses: {
          200: {
            description: 'The receipt, or the progress of the file until there is one',
            content: jsonOf('Receipt', 'Progress'),
          },
          404: { description: 'No file with this number or name has arrived' },
          ...refused,
        },
      },
    },
    '/usage': {
      post: {
        ...mutual,
        operationId: 'push',
        summary: 'Push usage rows, which are collected into files',
        parameters: [inHeader('Feed', true, [...pushedColumns.keys()].join(' or '))],
        requestBody: {
          required: true,
          content: {
            'text/csv': { schema: { type: 'string' } },
            'application/x-ndjson': { schema: { type: 'string' } },
          },
        },
        responses: {
          ...durable('Pushed'),
          413: { description: 'The body is longer than 4 MB', content: detail },
          ...refused,
        },
      },
    },
  }
}
