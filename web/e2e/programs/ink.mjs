// A real Ink program, as several agents are: redraws in place, keeps finished
// lines above, asks a numbered question and reads keys in raw mode.
import { Box, Static, Text, render, useApp, useInput } from 'ink'
import { createElement, useEffect, useState } from 'react'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴']

function App() {
  const { exit } = useApp()
  const [step, setStep] = useState(0)
  const [choice, setChoice] = useState(0)
  const [answer, setAnswer] = useState('')
  const working = step < 20
  useEffect(() => {
    if (!working) return undefined
    const timer = setTimeout(() => setStep(step + 1), 20)
    return () => clearTimeout(timer)
  }, [step, working])
  useInput((input, key) => {
    if (working || answer) return
    if (key.downArrow) setChoice((choice + 1) % 2)
    if (key.upArrow) setChoice((choice + 1) % 2)
    if (key.return) setAnswer(choice === 0 ? 'yes' : 'no')
    if (input === '1') setAnswer('yes')
    if (input === '2') setAnswer('no')
  })
  useEffect(() => {
    if (answer) exit()
  }, [answer, exit])
  const done = Array.from({ length: step }, (_, i) => `step ${i + 1} is done ✅`)
  const option = (index, text) =>
    createElement(
      Text,
      { key: index, color: choice === index ? 'cyan' : undefined },
      `${choice === index ? '❯' : ' '} ${index + 1}. ${text}`,
    )
  return createElement(
    Box,
    { flexDirection: 'column' },
    createElement(Static, { items: done }, (line) =>
      createElement(Text, { key: line, color: 'green' }, line),
    ),
    working
      ? createElement(Text, null, `${frames[step % frames.length]} working on step ${step + 1}`)
      : createElement(
          Box,
          { flexDirection: 'column', borderStyle: 'round', borderColor: 'blue', paddingX: 1 },
          createElement(Text, { bold: true }, 'Do you want to proceed?'),
          option(0, 'Yes'),
          option(1, 'No'),
        ),
    answer ? createElement(Text, null, `the answer was ${answer}`) : null,
  )
}

render(createElement(App))
