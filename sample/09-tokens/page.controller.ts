import { Controller, Get, Header } from '@nestjs/common';

const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>nestjs-gearmonkey: tokens</title>
  <style>
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }
    input { width: 24rem }
  </style>
  <h1>Ask</h1>
  <form><label>Question <input required /></label> <button>Ask</button></form>
  <div id="answers" aria-live="polite"></div>
  <script>
    document.querySelector('form').onsubmit = async (event) => {
      event.preventDefault();
      const question = encodeURIComponent(document.querySelector('input').value);
      const { tokens } = await (await fetch('/answers?question=' + question, { method: 'POST' })).json();
      const text = document.getElementById('answers').appendChild(document.createElement('p'));
      const source = new EventSource(tokens);
      source.onmessage = ({ data }) => { text.textContent += JSON.parse(data); };
      // Without it, the browser would ask once more and be told that there is no more.
      source.addEventListener('end', () => source.close());
    };
  </script>
</html>
`;

/** A page to try the sample in a browser. */
@Controller()
export class PageController {
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }
}
