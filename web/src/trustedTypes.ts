/**
 * The page's policy lists one trusted-types policy, `vue`. Vue creates it, for markup only, but registering the
 * service worker needs a trusted script URL as well. This module is imported before Vue and adds that one rule,
 * for that one URL, to the policy Vue creates, so that nothing else can ever make a script URL.
 */
interface Policy {
  createScriptURL(url: string): unknown
}
interface PolicyRules {
  createHTML?: (html: string) => string
  createScriptURL?: (url: string) => string
}
interface PolicyFactory {
  createPolicy(name: string, rules: PolicyRules): Policy
}

const workerUrl = '/sw.js'
const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes
let policy: Policy | undefined

if (factory) {
  const createPolicy = factory.createPolicy.bind(factory)
  factory.createPolicy = (name, rules) => {
    if (name !== 'vue') return createPolicy(name, rules)
    policy = createPolicy(name, {
      ...rules,
      createScriptURL(url) {
        if (url !== workerUrl) throw new TypeError(`no script may come from ${url}`)
        return url
      },
    })
    return policy
  }
}

/** The service worker's address in the form its registration accepts. */
export function trustedWorkerUrl(): string {
  return (policy?.createScriptURL(workerUrl) ?? workerUrl) as string
}
