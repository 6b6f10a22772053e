// Printed by SymPy from the package's expressions; python -m recallbook table explorer --export.
(function (explorer) {
  explorer.ledger = {
    "mean bias": ({L, N, V, d, tau}) => Math.pow(L, 4)*V*(d - 1)*(Math.pow(V, 2) + 3*V*d + Math.pow(d, 2))/(Math.pow(d, 2)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "gradient noise": ({L, N, V, d, tau}) => Math.pow(L, 2)*V*Math.pow(V + d, 2)*(d - 1)*(N*V + N*d + V*d)/(N*Math.pow(d, 2)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "frequency noise": ({L, N, V, d, tau}) => Math.pow(L, 2)*Math.pow(V + d, 2)*(d - 1)*(Math.pow(V, 2) + 5*V*d + Math.pow(d, 2))*(L*V + N - V)/(V*Math.pow(d, 3)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "fact interference": ({L, N, V, d, tau}) => N*(V + d)*(d - 1)*(Math.pow(L, 3)*Math.pow(V, 2) + Math.pow(L, 3)*V*d + Math.pow(L, 3)*Math.pow(d, 2) + Math.pow(L, 2)*Math.pow(V, 3)*tau + 2*Math.pow(L, 2)*Math.pow(V, 3) + Math.pow(L, 2)*Math.pow(V, 2)*d*tau + 6*Math.pow(L, 2)*Math.pow(V, 2)*d + 8*Math.pow(L, 2)*V*Math.pow(d, 2) - Math.pow(L, 2)*Math.pow(d, 2) + L*Math.pow(V, 3)*d*tau - L*Math.pow(V, 3) + L*Math.pow(V, 2)*Math.pow(d, 2)*tau - 4*L*Math.pow(V, 2)*d - 7*L*V*Math.pow(d, 2) - Math.pow(V, 3)*d*tau - Math.pow(V, 2)*Math.pow(d, 2)*tau)/(V*Math.pow(d, 2)*(L - 1)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "trigger overlap": ({L, N, V, d, tau}) => (Math.pow(L, 2)*Math.pow(V, 4)*Math.pow(tau, 2) + 3*Math.pow(L, 2)*Math.pow(V, 3)*d*Math.pow(tau, 2) + Math.pow(L, 2)*Math.pow(V, 2)*Math.pow(d, 2)*Math.pow(tau, 2) + 2*L*N*Math.pow(V, 3)*d*tau + 2*L*N*Math.pow(V, 3)*Math.pow(tau, 2) + 2*L*N*Math.pow(V, 2)*Math.pow(d, 2)*tau + 2*L*N*Math.pow(V, 2)*d*Math.pow(tau, 2) - 2*L*N*Math.pow(V, 2)*d*tau - 2*L*N*Math.pow(V, 2)*Math.pow(tau, 2) - 2*L*N*V*Math.pow(d, 2)*tau - 2*L*N*V*d*Math.pow(tau, 2) + 2*L*Math.pow(V, 4)*d*Math.pow(tau, 2) + 2*L*Math.pow(V, 3)*Math.pow(d, 2)*Math.pow(tau, 2) + Math.pow(N, 2)*Math.pow(V, 2)*Math.pow(d, 2) + 2*Math.pow(N, 2)*Math.pow(V, 2)*d*tau + Math.pow(N, 2)*Math.pow(V, 2)*Math.pow(tau, 2) - 2*Math.pow(N, 2)*V*Math.pow(d, 2) - 4*Math.pow(N, 2)*V*d*tau - 2*Math.pow(N, 2)*V*Math.pow(tau, 2) + Math.pow(N, 2)*Math.pow(d, 2) + 2*Math.pow(N, 2)*d*tau + Math.pow(N, 2)*Math.pow(tau, 2) + 2*N*Math.pow(V, 3)*Math.pow(d, 2)*tau + 2*N*Math.pow(V, 3)*d*Math.pow(tau, 2) - 2*N*Math.pow(V, 2)*Math.pow(d, 2)*tau - 2*N*Math.pow(V, 2)*d*Math.pow(tau, 2) + Math.pow(V, 4)*Math.pow(d, 2)*Math.pow(tau, 2))/(d*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "bias noise": ({L, N, V, d, tau}) => Math.pow(L, 2)*V*Math.pow(V + d, 2)*(d - 1)*(Math.pow(L, 2) + V*d*tau + V*tau)/(Math.pow(d, 2)*(L - 1)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "uneven facts": ({L, N, V, d, tau}) => N*(V + d)*(d - 1)*(N*V + 2*N*d + 4*V*Math.pow(d, 2)*tau + 4*V*Math.pow(d, 2))/(Math.pow(d, 2)*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "unequal lengths": ({L, N, V, d, tau}) => 2*(V + d)*(d - 1)*Math.pow(L*V + N, 2)/(d*Math.pow(L*Math.pow(V, 2)*tau + N*V*d + N*V*tau - N*d - N*tau + Math.pow(V, 2)*d*tau, 2)),
    "label frequencies": ({N, V, d, tau}) => V*Math.pow(tau, 2)*(V + d - 2)/(N*d),
    "interference": ({N, V, d, tau}) => (N + V)*(V - 2)*(tau + 1)/(N*Math.pow(d, 2)),
    "label overlap": ({d}) => 1/d,
    "own fact": ({N, V, d, tau}) => (N + V)*(tau + 1)/(N*d),
    "coverage": ({N, V}) => Math.exp(-N/V),
  };
  explorer.needs = {
    "coverage": ({V, unseen}) => Math.log(unseen/V)/Math.log((V - 1)/V),
    "attention": ({L, d}) => Math.sqrt(10)*Math.pow(L, 2)*Math.sqrt(Math.log(L))/d,
  };
})((window.explorer = window.explorer || {}));
