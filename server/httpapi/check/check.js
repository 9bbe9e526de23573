// Says what this address can do in this browser. Everything is text nodes: no HTML is ever parsed.
'use strict'

const list = document.getElementById('list')
let lacking = 0

function row(target, kind, title, about) {
  const item = document.createElement('li')
  if (kind) item.className = kind
  const name = document.createElement('b')
  name.textContent = title
  item.append(name)
  if (about) {
    const text = document.createElement('span')
    text.textContent = about
    item.append(text)
  }
  target.append(item)
}

function need(has, title, without) {
  if (!has) lacking += 1
  row(list, has ? '' : 'lacks', title, has ? '' : without)
}

function installed() {
  return matchMedia('(display-mode: standalone)').matches || navigator.standalone === true
}

function browser() {
  const secure = window.isSecureContext
  need(secure, 'Secure address', 'The browser trusts no plain http:// address except on the machine itself, and switches the next four off.')
  need('serviceWorker' in navigator, 'Opens without a network, installs', secure ? 'This browser has no service workers, or a private window hides them.' : 'Needs https.')
  const push = 'PushManager' in window && 'Notification' in window
  const iOS = /iPhone|iPad/.test(navigator.userAgent)
  need(push, 'Push notifications', iOS && secure && !installed() ? 'On iPhone and iPad: add to the Home Screen and open it there.' : secure ? 'This browser has no push.' : 'Needs https.')
  if (push && Notification.permission === 'denied') row(list, 'lacks', 'Notifications are blocked', 'Allow them for this address in the settings of the browser.')
  need(Boolean(navigator.clipboard), 'Copy and paste by a tap', secure ? 'This browser does not allow it.' : 'Needs https. Selecting and the keyboard’s own paste still work.')
  return secure
}

// The app's second credential; without it nobody is signed in here.
function proof() {
  try {
    return localStorage.getItem('agent-helm.proof') || ''
  } catch {
    return ''
  }
}

async function json(path, headers = {}) {
  const response = await fetch(path, { headers: { Accept: 'application/json', ...headers }, cache: 'no-store' })
  if (!response.ok) throw new Error(String(response.status))
  return response.json()
}

async function server() {
  const here = await json('/api/check')
  if (here.insecure) row(list, 'lacks', 'Plain HTTP on a network', 'Anybody on it can read along. Here you may watch, answer and type; never start commands or administer, and you are signed out after a day.')
  if (/^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname)) row(list, 'note', 'For this machine only', 'A phone needs another address: see below.')
  row(list, here.public ? '' : 'note', here.public ? 'The address of this server’s links' : 'Not the address of this server’s links', here.public ? '' : 'It works here too, but each address signs in by itself. Installing and notifications belong to the address where you did them.')
  if (here.proxy === 'ignored') row(list, 'note', 'A proxy is in front, and is not trusted', 'Limits and lists see its address in place of yours: see --trusted-proxy.')
  if (here.proxy === 'trusted') row(list, '', 'A trusted proxy is in front', '')
  if (here.tailnet) row(list, '', 'Over the tailnet', '')
}

async function details() {
  let told
  if (!proof()) return
  try {
    told = await json('/api/check/server', { 'X-Agent-Helm-Proof': proof() })
  } catch {
    return // not signed in, or not an admin: the rest says enough
  }
  const advice = document.getElementById('advice')
  row(advice, 'note', told.link, 'Links begin with this.')
  if (told.tailnet) row(advice, told.tailnet.problem ? 'lacks' : '', `Tailnet: ${told.tailnet.url || told.tailnet.phase}`, told.tailnet.problem)
  for (const sentence of told.advice) row(advice, 'lacks', sentence, '')
  document.getElementById('server').hidden = false
}

async function run() {
  document.getElementById('origin').textContent = location.origin
  const secure = browser()
  let verdict = lacking ? 'Some things do not work at this address:' : 'Everything works at this address.'
  try {
    await server()
    await details()
  } catch {
    verdict = 'The server does not answer at this address.'
  }
  document.getElementById('verdict').textContent = verdict
  document.getElementById('https').hidden = location.protocol === 'https:' && secure
}

void run()
