import type { Browser, BrowserContext, Locator, Page } from '@playwright/test'
import { expect, patience, type Stack } from './stack'

/** A phone's browser: touch, coarse pointer, its own storage. */
export async function phone(browser: Browser, width = 390, height = 844): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: 2,
    hasTouch: true,
    isMobile: true,
  })
}

/** The rows of the terminal as they stand in the DOM. */
export function rows(page: Page): Locator {
  return page.locator('.xterm-rows').first()
}

/** Waits until the terminal shows a text. */
export async function shows(page: Page, text: string | RegExp): Promise<void> {
  await expect(rows(page)).toContainText(text, { timeout: patience })
}

/** Opens a session from the list, as a person does. */
export async function openSession(page: Page, name: string): Promise<void> {
  await page
    .getByRole('link', { name: new RegExp(name) })
    .first()
    .click()
  await rows(page).waitFor({ timeout: patience })
}

/** Sends a line through the compose box. */
export async function send(page: Page, text: string): Promise<void> {
  const box = page.getByPlaceholder(/^(Message|Type|Command)/)
  await box.fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

/** Presses a key of the toolbar. */
export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('toolbar', { name: 'Keys' }).getByRole('button', { name, exact: true }).click()
}

/** A signed-in phone on a session. */
export async function phoneOn(
  browser: Browser,
  stack: Stack,
  name: string,
  width = 390,
  height = 844,
): Promise<{ page: Page; context: BrowserContext }> {
  const context = await phone(browser, width, height)
  const page = await context.newPage()
  await stack.signIn(page)
  await openSession(page, name)
  return { page, context }
}

/** A signed-in desk on a session: mouse and keyboard, typing goes to the terminal. */
export async function deskOn(
  browser: Browser,
  stack: Stack,
  name: string,
): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await stack.signIn(page)
  await openSession(page, name)
  await expect(page.getByRole('textbox', { name: 'Terminal input' })).toBeFocused({ timeout: patience })
  return { page, context }
}

/** A signed-in phone on a session, whose keyboard types straight to the program. */
export async function directPhone(
  browser: Browser,
  stack: Stack,
  name: string,
  id: string,
): Promise<{ page: Page; context: BrowserContext }> {
  const context = await phone(browser)
  await context.addInitScript(
    (key) => localStorage.setItem('agent-helm.prefs', JSON.stringify({ direct: { [key]: true } })),
    `${stack.hostId}/${id}`,
  )
  const page = await context.newPage()
  await stack.signIn(page)
  await openSession(page, name)
  return { page, context }
}
