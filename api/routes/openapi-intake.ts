import { pushedColumns } from '../../schemas/pushed-rows.js'

type Json = Readonly<Record<string, unknown>>

const inHeader = (name: string, isRequired: boolean, description: string): Json => ({
  name,
  in: 'header',
  required: isRequired,
  description,
  schema: { type: 'string' },
})
const refused = {
  400: { description: 'The request is wrong; the detail names what and the remedy' },
  401: { description: 'No service account' },
  429: { description: 'More requests in this second than one address may send; no body' },
  503: { description: 'Outage, or too little free disk; no body' },
} as const
const durable = {
  202: {
    description: 'It is durable; Location tells where its receipt is',
    headers: { Location: { schema: { type: 'string' } } },
  },
} as const
const file = { description: 'The file as it is', content: { 'application/octet-stream': {} } }

/** The paths by which files and rows are sent. */
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
        summary: 'Send a file, or what follows the part of it that is here',
        parameters: [
          name,
          inHeader('Repr-Digest', true, 'sha-256=:<base64>: of the whole file'),
          inHeader('Content-Range', false, 'bytes <from>-<to>/<all>, or bytes */<all> to ask'),
        ],
        requestBody: { required: true, ...file },
        responses: {
          ...durable,
          409: {
            description: 'Not whole yet: go on from Upload-Offset',
            headers: { 'Upload-Offset': { schema: { type: 'integer' } } },
          },
          ...refused,
        },
      },
      get: {
        ...mutual,
        operationId: 'receipt',
        summary: 'The receipt of an arrival, or of the latest of a name, or how far it has come',
        parameters: [name],
        responses: {
          200: { description: 'The receipt', content: { 'application/json': {} } },
          404: { description: 'Nothing of that number or name has arrived' },
          ...refused,
        },
      },
    },
    '/usage': {
      post: {
        ...mutual,
        operationId: 'push',
        summary: 'Push rows of usage, which are gathered into files',
        parameters: [inHeader('Feed', true, [...pushedColumns.keys()].join(' or '))],
        requestBody: {
          required: true,
          content: {
            'text/csv': { schema: { type: 'string' } },
            'application/x-ndjson': { schema: { type: 'string' } },
          },
        },
        responses: { ...durable, ...refused },
      },
    },
  }
}
