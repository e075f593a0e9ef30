import { z } from 'zod'

const servers = z.array(z.object({ url: z.string() }))
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  servers: servers.optional(),
  deprecated: z.boolean().optional(),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
  requestBody: z.unknown().optional(),
  responses: z.record(
    z.string(),
    z.object({ description: z.string(), content: z.unknown().optional() }),
  ),
})
const scheme = z.object({ type: z.string(), scheme: z.string().optional() })
const documentSchema = z.object({
  info: z.object({ title: z.string() }),
  servers,
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    schemas: z.record(z.string(), z.unknown()),
    securitySchemes: z.record(z.string(), scheme),
  }),
})
type Schemes = Readonly<Record<string, z.output<typeof scheme>>>

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f4f4f4;padding:1rem;overflow:auto}
table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left}`

/** Renders an OpenAPI document as a page that loads nothing from other hosts. */
export function renderApiReference(document: unknown): string {
  const { info, servers, paths, components } = documentSchema.parse(document)
  const baseOf = (one: { readonly servers?: typeof servers | undefined }) =>
    (one.servers ?? servers)[0]?.url ?? ''
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) =>
      renderOperation(
        `${method.toUpperCase()} ${baseOf(one)}${path}`,
        one,
        components.securitySchemes,
      ),
    ),
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<h3 id="${htmlText(name)}">${htmlText(name)}</h3><pre>${htmlText(JSON.stringify(schema, undefined, 2))}</pre>`,
  )
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${htmlText(info.title)}</title>
<style>${style}</style><h1>${htmlText(info.title)}</h1>
<p>Machine-readable version: <a href="openapi.json">openapi.json</a></p>
${sections.join('\n')}<h2>Schemas</h2>${schemas.join('\n')}</html>\n`
}

function renderOperation(title: string, one: z.output<typeof operation>, schemes: Schemes): string {
  const rows = Object.entries(one.responses).map(
    ([status, { description, content }]) =>
      `<tr><td>${htmlText(status)}</td><td>${htmlText(description)}</td><td>${renderBody(content)}</td></tr>`,
  )
  const old = one.deprecated ? ' (deprecated)' : ''
  const shown = one.security
    .flatMap((all) => Object.keys(all))
    .map((name) => toWords(schemes[name]))
  return `<h2><code>${htmlText(title)}</code>${old}</h2><p>${htmlText(one.summary)}</p>
<p>Authentication: ${htmlText(shown.join(' and '))}; body: ${renderBody(one.requestBody)}</p>
<table><tr><th>Status</th><th>Meaning</th><th>Body</th></tr>${rows.join('')}</table>`
}

function renderBody(content: unknown): string {
  const name = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(content ?? ''))?.[1]
  return name === undefined ? 'none' : `<a href="#${htmlText(name)}">${htmlText(name)}</a>`
}

const credentials: Readonly<Record<string, string>> = {
  bearer: "Authorization: Bearer with the customer's token",
  basic: 'Authorization: Basic with the service account',
}

function toWords(one: Schemes[string] | undefined): string {
  return credentials[one?.scheme ?? ''] ?? 'a client certificate'
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
