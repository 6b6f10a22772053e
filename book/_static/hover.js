// A card with what a link within the book leads to, or what a symbol means: at the mouse, at the keyboard's focus, and
// at the first tap (the second one follows the link). Its texts are loaded when the first is asked for.
addEventListener('DOMContentLoaded', () => {
  const root = document.documentElement.dataset.content_root;
  const card = Object.assign(document.createElement('div'), {id: 'hover-card', hidden: true});
  card.setAttribute('role', 'tooltip');
  document.body.append(card);
  let owner = null, waiting = 0, texts = null, turn = 0;

  function loaded() {
    texts ??= new Promise((done, fail) => document.body.append(Object.assign(document.createElement('script'),
      {src: `${root}_static/cards.js`, onload: () => done(CARDS), onerror: fail})));
    return texts;
  }

  // what a card could be about: a link with an anchor, or a formula that is one symbol
  function topic(target) {
    if (!target.closest?.('.bd-article')) return null;
    const link = target.closest('a[href*="#"]:not(.headerlink)');
    if (link) {
      const page = new URL(link.href).pathname.slice(new URL(root, location).pathname.length);
      return {element: link, key: decodeURI(page) + decodeURIComponent(link.hash)};
    }
    if (/\/proofs\w*\.html$/.test(location.pathname)) return null; // there letters are local
    const formula = target.closest('mjx-container:not([display="true"])');
    const item = formula && [...MathJax.startup.document.math].find(one => one.typesetRoot === formula);
    if (!item) return null;
    const name = item.math.trim(), page = /([^/]*)\.html$/.exec(location.pathname)?.[1];
    const places = [page, /^(?:appendix_)?(\d\d)_/.exec(page)?.[1]]; // an appendix has the letters of its chapter
    return {element: formula, key: `symbol ${name}`, places: places.map(place => `symbol ${place} ${name}`)};
  }

  function hide() {
    clearTimeout(waiting);
    owner?.removeAttribute('aria-describedby');
    owner = null;
    card.hidden = true;
    turn++;
  }

  async function show({element, key, places = []}) {
    hide();
    const mine = turn, all = await loaded(), text = all[places.find(name => name in all) ?? key];
    if (!text || mine !== turn) return !!text;
    owner = element;
    MathJax.typesetClear?.([card]);
    card.innerHTML = text;
    const images = [...card.querySelectorAll('img')];
    for (const image of images) image.src = root + image.getAttribute('src');
    card.hidden = false;
    await Promise.allSettled([MathJax.typesetPromise?.([card]), ...images.map(image => image.decode())]);
    if (mine !== turn) return true;
    element.setAttribute('aria-describedby', card.id);
    const box = element.getClientRects()[0], own = card.getBoundingClientRect();
    const above = box.bottom + own.height + 12 > innerHeight && box.top > own.height + 12;
    card.style.left = `${Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8)) + scrollX}px`;
    card.style.top = `${(above ? box.top - own.height - 4 : box.bottom + 4) + scrollY}px`;
    return true;
  }

  const later = (act, delay) => { clearTimeout(waiting); waiting = setTimeout(act, delay); };
  document.addEventListener('pointerover', event => {
    if (event.pointerType !== 'mouse') return;
    if (card.contains(event.target) || owner?.contains(event.target)) return clearTimeout(waiting);
    const about = topic(event.target);
    if (about) later(() => show(about), about.key.startsWith('symbol') ? 600 : 250);
    else later(hide, 300);
  });
  document.addEventListener('focusin', event => {
    const about = event.target.matches('a:focus-visible') && topic(event.target);
    if (about) show(about); else hide();
  });
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
  document.addEventListener('click', event => {
    if (card.contains(event.target)) return;
    const about = event.pointerType === 'touch' && topic(event.target);
    if (!about || owner === about.element) return hide();
    if (about.element.matches('a')) event.preventDefault();
    show(about).catch(() => false).then(shown => { if (!shown && about.element.matches('a')) location.href = about.element.href; });
  });
});
