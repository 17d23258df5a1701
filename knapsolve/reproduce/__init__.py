"""The papers, figure by figure: our numbers beside theirs."""
