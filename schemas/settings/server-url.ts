import { z } from 'zod'

const loopback = /^(([a-z0-9-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Address of a server of the utility's: https, or http on loopback. User and password do not belong
 * in it, since it turns up in logs.
 */
export const serverUrl = z.string().superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const message = problemOf(url)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

function problemOf(url: URL | undefined): string | undefined {
  if (url === undefined) return 'use an address such as https://cis.example.com'
  if (url.username !== '' || url.password !== '') return 'leave user and password out of it'
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:' && loopback.test(url.hostname)) return undefined
  return 'use https, or http on loopback'
}
