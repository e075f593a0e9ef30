import { pushedColumns } from '../../schemas/gateway/pushed-rows.js'

type Json = Readonly<Record<string, unknown>>

const inHeader = (name: string, isRequired: boolean, description: string): Json => ({
  name,
  in: 'header',
  required: isRequired,
  description,
  schema: { type: 'string' },
})
const detail = {
  'application/json': { schema: { $ref: '#/components/schemas/WrongRequest' } },
} as const
const refused = {
  400: { description: 'The request is invalid', content: detail },
  401: { description: 'Wrong service account credentials' },
  429: { description: 'Too many requests of this address in this second; no body' },
  503: { description: 'Outage, or not enough free disk space; no body' },
} as const
const durable = {
  202: {
    description: 'The data is durable; Location is the URL of its receipt',
    headers: { Location: { schema: { type: 'string' } } },
  },
} as const
const file = { description: 'The content of the file', content: { 'application/octet-stream': {} } }

/** The paths that receive files and rows. */
export function toIntakePaths({ isDeprecated }: { readonly isDeprecated: boolean }): Json {
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
          ...durable,
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
          200: { description: 'The receipt', content: { 'application/json': {} } },
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
          ...durable,
          413: { description: 'The body is longer than 4 MB', content: detail },
          ...refused,
        },
      },
    },
  }
}
