import { find, showStatus } from './elements.js'
import { html, render } from './lit-html.js'

const dialog = document.createElement('dialog')

/** Asks for the reason and dismisses a problem; the next figures no longer list it. */
export function confirmDismiss(key: string): void {
  const content = html`<p>A dismissed problem is shown again if it occurs again. The reason is recorded in
      the audit log.</p>
    <p><label>Reason <input id="because" maxlength="500" required></label></p>
    <p><button type="button" class="strong" @click=${() => void perform(key)}>dismiss</button>
      <button type="button" @click=${() => dialog.close()}>cancel</button></p>`
  dialog.setAttribute('aria-label', 'Dismiss this problem?')
  document.body.append(dialog)
  render(content, dialog)
  find<HTMLInputElement>('#because').value = ''
  dialog.showModal()
}

async function perform(key: string): Promise<void> {
  const field = find<HTMLInputElement>('#because')
  if (!field.reportValidity()) return
  dialog.close()
  const wanted = new URLSearchParams({ key, because: field.value })
  try {
    const answer = await fetch(`problems/dismiss?${wanted}`, { method: 'POST' })
    if (answer.status === 401) location.reload()
    const { detail } = (await answer.json()) as { readonly detail?: string }
    if (answer.ok) showStatus('dismissed', 'good')
    else showStatus(detail ?? 'not dismissed', 'bad')
  } catch (error) {
    showStatus((error as Error).message, 'bad')
  }
}
