import { Notice } from './notice.js';

/** To sign in is to open the page again: the server sends a browser that does to where people sign in. */
export function SignedOut({ why }: { why: string }) {
  const again = (event: Event) => {
    event.preventDefault();
    location.reload();
  };
  return (
    <main id="main">
      <h1>You are signed out</h1>
      <Notice>
        {why}{' '}
        <a href="./" onClick={again}>
          Sign in
        </a>
      </Notice>
    </main>
  );
}
