import {
  auditPage,
  createToken,
  exportAudit,
  listDevices,
  listTokens,
  renameDevice,
  revokeDevice,
  revokeOtherDevices,
  revokeToken,
  storedDebt,
  type Device,
  type NewToken,
  type SignOutOutcome,
  type Token,
  type TokenOptions,
} from '@/api'
import { defineStore } from 'pinia'
import { computed, nextTick, ref, shallowRef, watch } from 'vue'
import { useIdentityStore } from './identity'
import { useLinkStore } from './link'
import { wipeBrowser } from './wipe'

/** A device with its ages turned into moments (Date.now), so that they go on counting. */
export interface KnownDevice extends Device {
  createdAt: number
  seenAt: number
  /** When it ends unless it is paired again. */
  endsAt: number
}

/** A token with its ages turned into moments; null where there is none. */
export interface KnownToken extends Token {
  createdAt: number
  usedAt: number | null
  endsAt: number | null
}

function knownDevice(device: Device): KnownDevice {
  const now = Date.now()
  return {
    ...device,
    createdAt: now - device.created_ms,
    seenAt: now - device.last_seen_ms,
    endsAt: now + device.expires_ms,
  }
}

function knownToken(token: Token): KnownToken {
  const now = Date.now()
  return {
    ...token,
    createdAt: now - token.created_ms,
    usedAt: token.last_used_ms < 0 ? null : now - token.last_used_ms,
    endsAt: token.expires_ms < 0 ? null : now + token.expires_ms,
  }
}

/** Who may come in: the devices and tokens as the server lists them, and what is done about them. */
export const useAccessStore = defineStore('access', () => {
  const link = useLinkStore()
  const identity = useIdentityStore()
  /** Null until the server has told. */
  const devices = shallowRef<KnownDevice[] | null>(null)
  const tokens = shallowRef<KnownToken[] | null>(null)
  /** When (Date.now) it did so last. */
  const loadedAt = ref<number | null>(null)
  /** Why it did not when it was last asked, as a sentence. */
  const failure = ref('')
  let asked = 0

  const own = computed(() => devices.value?.find((device) => device.current) ?? null)
  const others = computed(() => {
    const all = devices.value ?? []
    return all.filter((device) => !device.current && !device.sessions).sort((a, b) => b.seenAt - a.seenAt)
  })
  /** Those who may watch single sessions for a while. */
  const guests = computed(() => devices.value?.filter((device) => !device.current && device.sessions) ?? [])

  /** Asks for both lists. An answer that another has overtaken is dropped. */
  async function load(): Promise<void> {
    const turn = ++asked
    try {
      const [deviceList, tokenList] = await Promise.all([listDevices(), listTokens()])
      if (turn !== asked) return
      devices.value = deviceList.map(knownDevice)
      tokens.value = tokenList.map(knownToken)
      loadedAt.value = Date.now()
      failure.value = ''
    } catch (error) {
      if (turn === asked) failure.value = error instanceof Error ? error.message : String(error)
    }
  }

  async function rename(id: string, name: string): Promise<void> {
    await renameDevice(id, name)
    await Promise.all([identity.may('admin') ? load() : null, identity.refresh()])
  }

  async function revoke(id: string): Promise<void> {
    await revokeDevice(id)
    await load()
  }

  /** Ends every device but this one. Returns how many there were. */
  async function revokeOthers(): Promise<number> {
    const revoked = await revokeOtherDevices()
    await load()
    return revoked
  }

  /** Makes a token. Its text is in the answer and nowhere else. */
  async function addToken(options: TokenOptions): Promise<NewToken> {
    const made = await createToken(options)
    await load()
    return made
  }

  async function removeToken(id: string): Promise<void> {
    await revokeToken(id)
    await load()
  }

  /**
   * Ends this device's access and removes everything that the app put into this browser. Without the server only the
   * second happens now.
   */
  async function signOutAndWipe(): Promise<SignOutOutcome> {
    const outcome = await link.signOutAnyway()
    // The other stores write down their emptied state first.
    await nextTick()
    await wipeBrowser(storedDebt)
    return outcome
  }

  watch(
    () => link.status,
    (status) => {
      if (status !== 'signed_out' && status !== 'revoked') return
      asked++
      devices.value = tokens.value = loadedAt.value = null
      failure.value = ''
    },
  )

  return {
    devices,
    tokens,
    loadedAt,
    failure,
    own,
    others,
    guests,
    load,
    rename,
    revoke,
    revokeOthers,
    addToken,
    removeToken,
    signOutAndWipe,
    auditPage,
    exportAudit,
  }
})
