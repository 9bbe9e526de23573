import { readonly, ref, type Ref } from 'vue'

/** Chrome's offer to install the app, which is not in the DOM's types. */
interface InstallOffer extends Event {
  prompt(): Promise<{ outcome: 'accepted' | 'dismissed' }>
}

let offer: InstallOffer | null = null
const possible = ref(false)

// The browser makes its offer once, and maybe before any screen asks for it.
window.addEventListener('beforeinstallprompt', (event) => {
  event.preventDefault()
  offer = event as InstallOffer
  possible.value = true
})

/** Installing the app with a button, where the browser lets us. */
export function useInstall(): {
  possible: Readonly<Ref<boolean>>
  /** Asks the person; call it from a tap. True when it was accepted. */
  ask(): Promise<boolean>
} {
  async function ask(): Promise<boolean> {
    const asked = offer
    offer = null
    possible.value = false
    return asked !== null && (await asked.prompt()).outcome === 'accepted'
  }
  return { possible: readonly(possible), ask }
}
