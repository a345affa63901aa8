import { Controller, Get, Header } from '@nestjs/common';

const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>nestjs-gearmonkey: progress</title>
  <style>
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }
    progress { width: 100% }
  </style>
  <h1>Render a film</h1>
  <button>Start</button>
  <div id="jobs"></div>
  <script>
    document.querySelector('button').onclick = async () => {
      const { id, events } = await (await fetch('/renders?frames=60', { method: 'POST' })).json();
      const row = document.getElementById('jobs').appendChild(document.createElement('p'));
      row.innerHTML = '<progress max="1" value="0"></progress><br /><span></span>';
      const [bar, , text] = row.children;
      const source = new EventSource(events);
      const show = ({ data }) => {
        const { state, dividend, divisor, output } = JSON.parse(data);
        if (divisor) bar.value = dividend / divisor;
        text.textContent = 'job ' + id + ': ' + state + (output ? ' in ' + output.seconds.toFixed(1) + ' s' : '');
      };
      source.addEventListener('progress', show);
      source.addEventListener('finished', (event) => { show(event); source.close(); });
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
