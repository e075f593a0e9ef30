import { readFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import type { GatewayDetail } from '../stack/processes/programs.js'
import { demoAccount, type Office } from './office.js'

const clientId = '7000000001'
const hub = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:0D:6F:00:0A:BC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
} as const

/** A call as a shell command, and its response. */
export interface ShownCall {
  readonly curl: string
  readonly answer: string
}

/** Makes one login, one customer and one bind call to the gateway. */
export async function callGateway(
  office: Office,
  { addresses }: GatewayDetail,
): Promise<readonly ShownCall[]> {
  const [bearerUrl = '', mutualUrl = ''] = addresses
  const { caFile, clientCertFile, clientKeyFile } = office.certificates
  const ca = readFileSync(caFile)
  const token = await signIn(office.idp)
  const tokenLine = `TOKEN=$(curl -s ${office.idp}/token -d '{"clientId":"${clientId}"}' | cut -d'"' -f4)`
  const calls: ShownCall[] = [{ curl: tokenLine, answer: '' }]
  for (const path of ['login', 'customer']) {
    const url = `${bearerUrl}/v1/gateway/${path}`
    const answer = await send(url, { ca, headers: { authorization: `Bearer ${token}` } }, '')
    const curl = `curl -s --cacert ${caFile} -X POST -H "Authorization: Bearer $TOKEN" \\\n  ${url}`
    calls.push({ curl, answer })
  }
  const url = `${mutualUrl}/v1/gateway/bind`
  const auth = `${demoAccount.name}:${demoAccount.password}`
  const client = { cert: readFileSync(clientCertFile), key: readFileSync(clientKeyFile) }
  const body = JSON.stringify(hub)
  const answer = await send(url, { ca, ...client, auth }, body)
  const files = `--cacert ${caFile} --cert ${clientCertFile} \\\n  --key ${clientKeyFile}`
  calls.push({
    curl: `curl -s ${files} -u ${auth} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}' \\\n  ${url}`,
    answer,
  })
  return calls
}

async function signIn(idp: string): Promise<string> {
  const answer = await fetch(`${idp}/token`, { method: 'POST', body: JSON.stringify({ clientId }) })
  const { access_token } = (await answer.json()) as { readonly access_token: string }
  return access_token
}

function send(url: string, options: RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, method: 'POST', agent: false }, async (response) => {
      let text = ''
      for await (const piece of response) text += piece
      resolve(`${response.statusCode} ${text}`)
    })
    sent.once('error', reject)
    sent.end(body)
  })
}
