import { z } from 'zod'
import { section, strict } from '../strict.js'
import { serviceUsers } from './gateway-bind.js'
import { clientCertificates } from './gateway-listener.js'

const file = z.string().min(1, 'name a file')

/** On an address other than loopback, `users` or `clientCaFile` decides who may see the page. */
const operations = z
  .strictObject({
    host: z.string().min(1, 'name a host').default('127.0.0.1'),
    port: z.int().min(1, 'use a port from 1 to 65535').max(65_535).optional(),
    /** Accounts of people, who sign in with a form; scripts use basic authentication. */
    users: serviceUsers.optional(),
    /** HTTPS; with an authority of client certificates the page wants one of those. */
    tls: strict({
      certFile: file,
      keyFile: file,
      clientCaFile: file.optional(),
      crlFile: clientCertificates.crlFile,
    }).optional(),
    clients: clientCertificates.clients,
    /** How often certificate files are looked at; new ones are taken without a restart. */
    certificateSeconds: z.int().min(1).max(86_400).default(10),
  })
  .refine(({ tls, clients }) => tls?.clientCaFile || (!tls?.crlFile && clients.length === 0), {
    path: ['tls', 'clientCaFile'],
    error: 'missing: clients and crlFile are about the certificates of this authority',
  })
  .readonly()

/** What differs between utilities in how the worker is run. */
export const workerSettings = section({
  /** Health, metrics and the page; without a port the first free one from 9465. */
  operations: operations.prefault({}),
})

export type OperationsSettings = z.output<typeof operations>
