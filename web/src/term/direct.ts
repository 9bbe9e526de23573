import { createBridgeField, createInputBridge, type BridgeTarget } from './inputBridge'

export interface Direct {
  focus(): void
  blur(): void
  reset(): void
  dispose(): void
}

/** Puts a field for direct typing into container. */
export function bindDirect(container: HTMLElement, target: BridgeTarget): Direct {
  const field = createBridgeField('Terminal input')
  container.append(field)
  const bridge = createInputBridge(field, target)
  return {
    // preventScroll: iOS would move the whole page to the field.
    focus: () => field.focus({ preventScroll: true }),
    blur: () => field.blur(),
    reset: () => bridge.reset(),
    dispose() {
      bridge.dispose()
      field.remove()
    },
  }
}
