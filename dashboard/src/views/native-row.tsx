import { get, type NativeRow as RowOf } from '../api.js';
import { useLoad } from '../load.js';
import { href } from '../route.js';
import { Read } from '../ui/notice.js';

const AGAIN_MS = 2000;
/** Shorter texts stand beside their names. */
const SHORT = 80;

/** All of a row of qless, JQ or jobd, as it changes. */
export function NativeRow({ i, view, of }: { i: string; view: string; of: string }) {
  const loaded = useLoad(
    JSON.stringify([i, view, of]),
    (signal) => get<RowOf>('native/row', { i, view, key: of }, signal),
    AGAIN_MS,
  );
  return (
    <>
      <div class="heading">
        <h2 class="name">{of}</h2>
        <a href={href('native', { i, view })}>Back to {view}</a>
      </div>
      <Read from={loaded}>
        {({ fn, fields }) => {
          const isShort = ({ text }: { text: string }) => text.length <= SHORT && !text.includes('\n');
          return (
            <>
              <dl class="facts">
                {[{ name: 'of', text: fn }, ...fields.filter(isShort)].map(({ name, text }) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{text}</dd>
                  </div>
                ))}
              </dl>
              {fields
                .filter((field) => !isShort(field))
                .map(({ name, text }) => (
                  <section key={name}>
                    <h2>{name}</h2>
                    <pre tabIndex={0}>{text}</pre>
                  </section>
                ))}
            </>
          );
        }}
      </Read>
    </>
  );
}
