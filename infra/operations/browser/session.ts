import { find } from './elements.js'

/** Shows the form in place of the page once the session has ended. */
export async function checkSession(): Promise<void> {
  const answer = await fetch('session').catch(() => undefined)
  if (answer?.status === 401) location.reload()
}

/** Shows who is signed in, and a button that ends the session. */
export async function showSession(): Promise<void> {
  const answer = await fetch('session').catch(() => undefined)
  if (answer?.ok !== true) return
  const { who, signedIn } = (await answer.json()) as {
    readonly who: string
    readonly signedIn: boolean
  }
  if (!signedIn) return
  const button = document.createElement('button')
  button.type = 'button'
  button.id = 'sign-out'
  button.textContent = 'sign out'
  button.title = `Signed in as ${who}`
  button.addEventListener('click', () => void signOut())
  find('.top').append(button)
}

async function signOut(): Promise<void> {
  await fetch('logout', { method: 'POST' })
  location.reload()
}
